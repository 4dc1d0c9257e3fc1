// A small writer of SVG: the same calls give the same bytes.

#ifndef WINNOW_CLIENT_CLI_DEMO_SVG_H_
#define WINNOW_CLIENT_CLI_DEMO_SVG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace winnow::cli {

// A coordinate with at most one decimal: "12", "12.5", "-0.5" never "-0".
std::string SvgNumber(double value);

// Text fit to stand between tags and in attributes; bytes that XML forbids become '?'.
std::string SvgEscape(absl::string_view text);

// Elements are drawn in the order of the calls. `style` is a class of the style sheet. Coordinates
// are pixels from the top left.
class Svg {
 public:
  struct Header {
    double width = 0;
    double height = 0;
    std::string title;        // for screen readers and as a tooltip
    std::string description;  // for screen readers
    std::string style_sheet;  // CSS; trusted
  };
  explicit Svg(const Header& header);

  void Rect(double x, double y, double width, double height, absl::string_view style);
  void Line(double x1, double y1, double x2, double y2, absl::string_view style);
  void Circle(double x, double y, double radius, absl::string_view style);
  void Path(absl::string_view commands, absl::string_view style);
  void Text(double x, double y, absl::string_view text, absl::string_view style);
  // A named part; ends with EndGroup.
  void BeginGroup(absl::string_view name);
  void EndGroup();

  std::string Finish() &&;

 private:
  std::string text_;
};

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_SVG_H_
