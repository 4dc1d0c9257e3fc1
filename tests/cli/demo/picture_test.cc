#include "client/cli/demo/picture.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "client/cli/demo/score_bins.h"
#include "client/cli/demo/svg.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/xml_check.h"

namespace winnow::cli {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

PictureRow RowOf(int64_t length) {
  PictureRow row;
  for (int64_t i = 0; i < length; ++i) row.scores.push_back(static_cast<float>(i * 7919 % 1000));
  const int32_t kept = static_cast<int32_t>(std::min<int64_t>(length, 512));
  row.tokens.resize(static_cast<size_t>(kept));
  std::iota(row.tokens.begin(), row.tokens.end(), 0);
  row.later = row.tokens;
  row.blocks = {0};
  row.candidate_length = kept;
  return row;
}

TEST(SvgNumberTest, HasOneDecimalAtMostAndNoNegativeZero) {
  EXPECT_EQ(SvgNumber(12), "12");
  EXPECT_EQ(SvgNumber(12.54), "12.5");
  EXPECT_EQ(SvgNumber(-0.5), "-0.5");
  EXPECT_EQ(SvgNumber(-0.01), "0");
}

TEST(SvgTest, TextCannotBecomeMarkup) {
  Svg svg({.width = 10, .height = 10, .title = "<script>\"&", .style_sheet = ""});
  svg.Text(1, 2, "</text><x a=\"1\">&\x1b", "name");
  const std::string text = std::move(svg).Finish();
  EXPECT_EQ(XmlProblem(text), "");
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, HasSubstr("&lt;/text&gt;&lt;x a=&quot;1&quot;&gt;&amp;?"));
}

TEST(ScoreBinsTest, BinsCoverTheRowAndHoldItsExtremes) {
  const std::vector<float> scores = {3, -1, 4, 1, -5, 9, 2, 6};
  const std::vector<ScoreBin> bins = BinScores(scores, 3);
  ASSERT_EQ(bins.size(), 3u);
  EXPECT_EQ(bins.front().first, 0);
  EXPECT_EQ(bins.back().last, 8);
  EXPECT_EQ(bins[0].last, bins[1].first);
  EXPECT_EQ(bins[0].low, -1);
  EXPECT_EQ(bins[1].low, -5);
  EXPECT_EQ(bins[1].high, 4);
  EXPECT_EQ(bins[2].high, 9);
}

TEST(ScoreBinsTest, WhatIsNotFiniteIsLeftOut) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<ScoreBin> bins = BinScores({{nan, infinity, 2, -infinity}}, 2);
  EXPECT_EQ(bins[0].low, 0);
  EXPECT_EQ(bins[0].high, 0);
  EXPECT_EQ(bins[1].low, 2);
  EXPECT_EQ(bins[1].high, 2);
}

TEST(ScoreBinsTest, BlocksShareTheirBins) {
  EXPECT_THAT(BinBlocks({{0, 2}}, 8, 32, 4), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(BinBlocks({{0}}, 8, 32, 2), ElementsAre(0.5, 0));
  EXPECT_THAT(BinBlocks({{0}}, 8, 4, 8), Each(1.0)) << "a short block is a whole row";
  EXPECT_THAT(BinBlocks({{-1, 4, 2147483647}}, 8, 32, 4), Each(0.0));
  EXPECT_THAT(BinBlocks({{0}}, 8, 0, 4), Each(0.0));
}

TEST(PictureTest, IsWellFormedAndNamesEveryRow) {
  const std::string svg = DrawPicture({RowOf(131072), RowOf(1), RowOf(0), RowOf(513)}, {});
  EXPECT_EQ(XmlProblem(svg), "");
  for (const char* name : {"131,072 scores", "1 score<", "0 scores", "513 scores"}) {
    EXPECT_THAT(svg, HasSubstr(name));
  }
  EXPECT_LT(svg.find("513 scores"), svg.find("131,072 scores")) << "by length";
}

TEST(PictureTest, SameRowsGiveTheSameBytes) {
  EXPECT_EQ(DrawPicture({RowOf(5000)}, {}), DrawPicture({RowOf(5000)}, {}));
}

TEST(PictureTest, LongRowDrawsAsSmallAsItsPixels) {
  EXPECT_LT(DrawPicture({RowOf(131072)}, {}).size(), 40000u);
  EXPECT_LT(DrawPicture({RowOf(2097152)}, {}).size(), 40000u);
}

TEST(PictureTest, HostileNumbersDrawSomething) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  PictureRow row{.scores = {nan, nan, nan, nan},
                 .tokens = {-5, 0, 3, 99},
                 .blocks = {-1, 0, 2147483647},
                 .later = {-1, 2, 2147483647}};
  PictureRow flat{.scores = std::vector<float>(100, -3.0f), .tokens = {1}, .blocks = {0}};
  const std::string svg = DrawPicture({row, flat}, {.footer = "a < b & c"});
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace winnow::cli
