#include "client/cli/demo/svg.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace winnow::cli {

std::string SvgNumber(double value) {
  const int64_t tenths = std::llround(value * 10);
  const int64_t magnitude = tenths < 0 ? -tenths : tenths;
  return absl::StrCat(tenths < 0 ? "-" : "", magnitude / 10, magnitude % 10 == 0 ? "" : ".",
                      magnitude % 10 == 0 ? "" : absl::StrCat(magnitude % 10));
}

std::string SvgEscape(absl::string_view text) {
  std::string escaped;
  for (char letter : text) {
    if (letter == '&') {
      escaped += "&amp;";
    } else if (letter == '<') {
      escaped += "&lt;";
    } else if (letter == '>') {
      escaped += "&gt;";
    } else if (letter == '"') {
      escaped += "&quot;";
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      escaped += '?';
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

Svg::Svg(const Header& header) {
  const std::string width = SvgNumber(header.width);
  const std::string height = SvgNumber(header.height);
  absl::StrAppend(&text_, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width,
                  "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height,
                  "\" role=\"img\">\n<title>", SvgEscape(header.title), "</title>\n<desc>",
                  SvgEscape(header.description), "</desc>\n<style>\n", header.style_sheet,
                  "</style>\n");
}

void Svg::Rect(double x, double y, double width, double height, absl::string_view style) {
  absl::StrAppend(&text_, "<rect x=\"", SvgNumber(x), "\" y=\"", SvgNumber(y), "\" width=\"",
                  SvgNumber(width), "\" height=\"", SvgNumber(height), "\" class=\"", style,
                  "\"/>\n");
}

void Svg::Line(double x1, double y1, double x2, double y2, absl::string_view style) {
  absl::StrAppend(&text_, "<line x1=\"", SvgNumber(x1), "\" y1=\"", SvgNumber(y1), "\" x2=\"",
                  SvgNumber(x2), "\" y2=\"", SvgNumber(y2), "\" class=\"", style, "\"/>\n");
}

void Svg::Circle(double x, double y, double radius, absl::string_view style) {
  absl::StrAppend(&text_, "<circle cx=\"", SvgNumber(x), "\" cy=\"", SvgNumber(y), "\" r=\"",
                  SvgNumber(radius), "\" class=\"", style, "\"/>\n");
}

void Svg::Path(absl::string_view commands, absl::string_view style) {
  absl::StrAppend(&text_, "<path class=\"", style, "\" d=\"", commands, "\"/>\n");
}

void Svg::Text(double x, double y, absl::string_view text, absl::string_view style) {
  absl::StrAppend(&text_, "<text x=\"", SvgNumber(x), "\" y=\"", SvgNumber(y), "\" class=\"", style,
                  "\">", SvgEscape(text), "</text>\n");
}

void Svg::BeginGroup(absl::string_view name) {
  absl::StrAppend(&text_, "<g><title>", SvgEscape(name), "</title>\n");
}

void Svg::EndGroup() { text_ += "</g>\n"; }

std::string Svg::Finish() && {
  text_ += "</svg>\n";
  return std::move(text_);
}

}  // namespace winnow::cli
