#include "client/cli/demo/picture.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/demo/picture_style.h"
#include "client/cli/demo/score_bins.h"
#include "client/cli/demo/svg.h"
#include "client/cli/number_text.h"

namespace winnow::cli {
namespace {

// Pixels.
constexpr double kWidth = 1280;
constexpr double kMargin = 28;
constexpr double kColumnGap = 36;
constexpr double kAxisWidth = 34;
constexpr double kPlotWidth = (kWidth - 2 * kMargin - kColumnGap) / 2 - kAxisWidth;
constexpr double kPlotHeight = 58;
constexpr double kStripHeight = 6;
constexpr double kStripGap = 3;
constexpr double kTitleHeight = 20;
constexpr double kTickHeight = 16;
constexpr double kPanelHeight =
    kTitleHeight + kPlotHeight + 2 * (kStripHeight + kStripGap) + kTickHeight + 12;
constexpr double kTop = 128;
constexpr double kBottom = 34;
constexpr double kHeadroom = 4;  // above the highest score, so that its dot is whole
constexpr int64_t kBins = static_cast<int64_t>(kPlotWidth / 1.5);
constexpr int64_t kBlockBins = static_cast<int64_t>(kPlotWidth);

struct Panel {
  const PictureRow* row;
  double x;  // of the plot, left
  double y;  // of the panel, top
  double low = 0;
  double high = 1;

  double plot_top() const { return y + kTitleHeight; }
  double plot_bottom() const { return plot_top() + kPlotHeight; }
  int64_t length() const { return static_cast<int64_t>(row->scores.size()); }
  double X(double position) const {
    return x + position / static_cast<double>(std::max<int64_t>(length(), 1)) * kPlotWidth;
  }
  double Y(double score) const {
    return plot_bottom() - (score - low) / (high - low) * (kPlotHeight - kHeadroom);
  }
};

void SetScale(Panel& panel, const std::vector<ScoreBin>& bins) {
  for (const ScoreBin& bin : bins) {
    panel.low = std::min<double>(panel.low, bin.low);
    panel.high = &bin == &bins[0] ? bin.high : std::max<double>(panel.high, bin.high);
  }
  if (!(panel.high > panel.low)) panel.high = panel.low + 1;
}

// Walks in whole tenths of a pixel, relative to the last point: short, and rounding never adds up.
class StepPath {
 public:
  StepPath(double x, double y) : x_(Tenths(x)), y_(Tenths(y)) {
    path_ = absl::StrCat("M", SvgNumber(x), " ", SvgNumber(y));
  }
  void ToX(double x) { Move("h", x_, Tenths(x)); }
  void ToY(double y) { Move("v", y_, Tenths(y)); }
  std::string Close() && { return absl::StrCat(path_, "z"); }

 private:
  static int64_t Tenths(double value) { return std::llround(value * 10); }
  void Move(absl::string_view command, int64_t& at, int64_t to) {
    if (to == at) return;
    absl::StrAppend(&path_, command, SvgNumber(static_cast<double>(to - at) / 10));
    at = to;
  }

  int64_t x_;
  int64_t y_;
  std::string path_;
};

// From the floor up, and along the tops.
StepPath Tops(const Panel& panel, const std::vector<ScoreBin>& bins, double start_y) {
  StepPath path(panel.x, start_y);
  for (const ScoreBin& bin : bins) {
    path.ToY(panel.Y(bin.high));
    path.ToX(panel.X(static_cast<double>(bin.last)));
  }
  return path;
}

void DrawScores(Svg& svg, const Panel& panel, const std::vector<ScoreBin>& bins) {
  svg.Rect(panel.x, panel.plot_top(), kPlotWidth, kPlotHeight, "plot");
  if (bins.empty()) return;
  StepPath under = Tops(panel, bins, panel.plot_bottom());
  under.ToY(panel.plot_bottom());
  svg.Path(std::move(under).Close(), "under");
  StepPath range = Tops(panel, bins, panel.Y(bins.front().low));
  for (auto bin = bins.rbegin(); bin != bins.rend(); ++bin) {
    range.ToY(panel.Y(bin->low));
    range.ToX(panel.X(static_cast<double>(bin->first)));
  }
  svg.Path(std::move(range).Close(), "range");
}

// One dot for each pixel that holds a token.
void DrawTokens(Svg& svg, const Panel& panel) {
  std::set<std::pair<int64_t, int64_t>> dots;
  double lowest = panel.high;
  for (int32_t position : panel.row->tokens) {
    if (position < 0 || position >= panel.length()) continue;
    const float score = panel.row->scores[static_cast<size_t>(position)];
    if (!std::isfinite(score)) continue;
    lowest = std::min<double>(lowest, score);
    dots.insert({std::llround(panel.X(position + 0.5)), std::llround(panel.Y(score))});
  }
  if (static_cast<int64_t>(panel.row->tokens.size()) < panel.length()) {
    svg.Line(panel.x, panel.Y(lowest), panel.x + kPlotWidth, panel.Y(lowest), "lowest");
  }
  // A path of round caps is a quarter the size of as many circles.
  std::string path;
  for (const auto& [x, y] : dots) {
    absl::StrAppend(&path, "M", x, " ", y, "h0");
  }
  if (!path.empty()) svg.Path(path, "token");
}

std::string Box(double left, double top, double width) {
  return absl::StrCat("M", SvgNumber(left), " ", SvgNumber(top), "h", SvgNumber(width), "v",
                      SvgNumber(kStripHeight), "h", SvgNumber(-width), "z");
}

// The share of each pixel's positions that lies in kept blocks, in four levels of colour.
void DrawBlocks(Svg& svg, const Panel& panel, double y, int32_t block_size) {
  svg.Rect(panel.x, y, kPlotWidth, kStripHeight, "track");
  constexpr int kLevels = 4;
  const double width = kPlotWidth / static_cast<double>(kBlockBins);
  std::vector<int> levels;
  for (double share : BinBlocks(panel.row->blocks, block_size, panel.length(), kBlockBins)) {
    // A little slack, because shares add up from fractions.
    levels.push_back(std::min(kLevels, static_cast<int>(std::ceil(share * kLevels - 0.05))));
  }
  std::string paths[kLevels + 1];
  for (size_t i = 0, end = 0; i < levels.size(); i = end) {
    while (end < levels.size() && levels[end] == levels[i]) ++end;
    paths[levels[i]] +=
        Box(panel.x + static_cast<double>(i) * width, y, static_cast<double>(end - i) * width);
  }
  for (int level = 1; level <= kLevels; ++level) {
    if (!paths[level].empty()) svg.Path(paths[level], absl::StrCat("block share", level));
  }
}

// A mark for each position, at least a pixel wide; those that touch become one.
void DrawLater(Svg& svg, const Panel& panel, double y) {
  svg.Rect(panel.x, y, kPlotWidth, kStripHeight, "track");
  std::vector<int32_t> positions = panel.row->later;
  std::sort(positions.begin(), positions.end());
  std::string path;
  double left = 0;
  double right = -1;
  auto draw = [&] {
    if (right > left) path += Box(left, y, right - left);
  };
  for (int32_t position : positions) {
    if (position < 0 || position >= panel.length()) continue;
    const double begin = std::min(std::floor(panel.X(position)), panel.x + kPlotWidth - 1);
    const double end = std::max(panel.X(position + 1), begin + 1);
    if (begin > right) {
      draw();
      left = begin;
    }
    right = std::max(right, end);
  }
  draw();
  if (!path.empty()) svg.Path(path, "later");
}

void DrawAxes(Svg& svg, const Panel& panel, double y) {
  svg.Text(panel.x - 6, panel.plot_top() + 8, absl::StrFormat("%.2f", panel.high), "tick end");
  svg.Text(panel.x - 6, panel.plot_bottom(), absl::StrFormat("%.3g", panel.low), "tick end");
  svg.Text(panel.x, y + 11, "0", "tick");
  if (panel.length() >= 4) {
    for (int quarter : {1, 2, 3}) {
      svg.Text(panel.x + kPlotWidth * quarter / 4, y + 11, Grouped(panel.length() * quarter / 4),
               "tick middle");
    }
  }
  svg.Text(panel.x + kPlotWidth, y + 11, Grouped(panel.length()), "tick end");
}

std::string PanelNote(const PictureRow& row, int32_t block_size) {
  const int64_t length = static_cast<int64_t>(row.scores.size());
  const int64_t blocks = (length + block_size - 1) / block_size;
  const int64_t kept_blocks = static_cast<int64_t>(row.blocks.size());
  const std::string tokens = static_cast<int64_t>(row.tokens.size()) == length
                                 ? "all kept"
                                 : absl::StrCat("keeps ", Counted(row.tokens.size(), "token"));
  return absl::StrCat(tokens, ", ", kept_blocks == blocks ? "all" : Grouped(kept_blocks),
                      kept_blocks == blocks ? "" : " of", " ", Counted(blocks, "block"), "; later ",
                      Grouped(static_cast<int64_t>(row.later.size())), " of ",
                      Counted(row.candidate_length, "candidate"));
}

void DrawPanel(Svg& svg, Panel panel, int32_t block_size) {
  const std::vector<ScoreBin> bins = BinScores(panel.row->scores, kBins);
  SetScale(panel, bins);
  const std::string title = Counted(panel.length(), "score");
  svg.BeginGroup(absl::StrCat("row of ", title));
  svg.Text(panel.x, panel.y + 13, title, "name");
  svg.Text(panel.x + kPlotWidth, panel.y + 13, PanelNote(*panel.row, block_size), "note end");
  DrawScores(svg, panel, bins);
  DrawTokens(svg, panel);
  double y = panel.plot_bottom() + kStripGap;
  DrawBlocks(svg, panel, y, block_size);
  y += kStripHeight + kStripGap;
  DrawLater(svg, panel, y);
  DrawAxes(svg, panel, y + kStripHeight);
  svg.EndGroup();
}

void DrawLegend(Svg& svg, const PictureParameters& parameters, double y) {
  double x = kMargin + kAxisWidth;
  svg.Rect(x, y - 10, 22, 10, "under");
  svg.Rect(x, y - 8, 22, 5, "range");
  svg.Text(x + 30, y, "scores, lowest to highest of each pixel", "legend");
  x += 300;
  svg.Path(absl::StrCat("M", SvgNumber(x + 6), " ", SvgNumber(y - 5), "h0M", SvgNumber(x + 15), " ",
                        SvgNumber(y - 7), "h0"),
           "token");
  svg.Text(x + 26, y, absl::StrCat("top ", parameters.k, " tokens; dashed: lowest kept"), "legend");
  x += 288;
  svg.Rect(x, y - 8, 22, kStripHeight, "block share4");
  svg.Text(x + 30, y,
           absl::StrCat("top ", Grouped(parameters.k_blocks), " blocks of ", parameters.block_size,
                        ", by density"),
           "legend");
  x += 268;
  svg.Rect(x, y - 8, 22, kStripHeight, "later");
  svg.Text(x + 30, y, absl::StrCat("a later layer's top ", parameters.k, " among those blocks"),
           "legend");
}

}  // namespace

std::string DrawPicture(const std::vector<PictureRow>& rows, const PictureParameters& parameters) {
  std::vector<const PictureRow*> ordered;
  for (const PictureRow& row : rows) ordered.push_back(&row);
  std::stable_sort(ordered.begin(), ordered.end(), [](const PictureRow* a, const PictureRow* b) {
    return a->scores.size() < b->scores.size();
  });
  const size_t panels_in_column = (ordered.size() + 1) / 2;
  const double height = kTop + static_cast<double>(panels_in_column) * kPanelHeight + kBottom;
  Svg svg({.width = kWidth,
           .height = height,
           .title = "winnow demo: what a two-level indexer keeps of score rows made from text",
           .description = absl::StrCat(Counted(static_cast<int64_t>(rows.size()), "row"),
                                       " of scores with the tokens and blocks kept of each"),
           .style_sheet = kPictureStyle});
  svg.Rect(0, 0, kWidth, height, "paper");
  const double left = kMargin + kAxisWidth;
  svg.Text(left, 42, "What a two-level indexer keeps of score rows made from text", "title");
  svg.Text(left, 66,
           "One panel for each row of indexer scores, by length. Across: position in the row, "
           "newest at the right. Up: score.",
           "subtitle");
  DrawLegend(svg, parameters, 98);
  for (size_t i = 0; i < ordered.size(); ++i) {
    const double column = static_cast<double>(i / panels_in_column);
    const double x = left + column * (kPlotWidth + kAxisWidth + kColumnGap);
    const double y = kTop + static_cast<double>(i % panels_in_column) * kPanelHeight;
    DrawPanel(svg, {.row = ordered[i], .x = x, .y = y}, parameters.block_size);
  }
  svg.Text(left, height - 16, parameters.footer, "note");
  return std::move(svg).Finish();
}

}  // namespace winnow::cli
