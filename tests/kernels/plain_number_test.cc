#include "winnow/kernels/plain_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace winnow {
namespace {

TEST(PlainNumberTest, DigitsAreTakenUpToTheLimitsOfTheType) {
  int32_t number = 0;
  EXPECT_TRUE(ParsePlainNumber("2147483647", number));
  EXPECT_EQ(number, std::numeric_limits<int32_t>::max());
  EXPECT_TRUE(ParsePlainNumber("-2147483648", number));
  EXPECT_EQ(number, std::numeric_limits<int32_t>::min());
  EXPECT_TRUE(ParsePlainNumber("010", number));
  EXPECT_EQ(number, 10);
  uint32_t unsigned_number = 0;
  EXPECT_TRUE(ParsePlainNumber("4294967295", unsigned_number));
  EXPECT_EQ(unsigned_number, std::numeric_limits<uint32_t>::max());
  EXPECT_FALSE(ParsePlainNumber("2147483648", number));
  EXPECT_FALSE(ParsePlainNumber("4294967296", unsigned_number));
  EXPECT_FALSE(ParsePlainNumber("-1", unsigned_number));
}

TEST(PlainNumberTest, NothingElseIsTaken) {
  int64_t number = 0;
  for (const std::string& text :
       {std::string(), std::string("-"), std::string("+1"), std::string("-0"), std::string("-00"),
        std::string("--1"), std::string("-+1"), std::string(" 1"), std::string("1 "),
        std::string("- 1"), std::string("1\n"), std::string("1\0", 2), std::string("0x1"),
        std::string("1.0"), std::string("1e3"), std::string("1,000"), std::string("\xd9\xa1"),
        std::string("99999999999999999999")}) {
    EXPECT_FALSE(ParsePlainNumber(text, number)) << text;
  }
}

TEST(PlainDecimalTest, PointsAndExponentsAreTaken) {
  const std::pair<const char*, double> cases[] = {{"0", 0},        {"0.5", 0.5},  {".5", 0.5},
                                                  {"2.5e3", 2500}, {"1e+2", 100}, {"1E-2", 0.01},
                                                  {"-1.5", -1.5}};
  for (const auto& [text, expected] : cases) {
    double number = 7;
    EXPECT_TRUE(ParsePlainDecimal(text, number)) << text;
    EXPECT_EQ(number, expected) << text;
  }
}

TEST(PlainDecimalTest, NothingElseIsTaken) {
  double number = 0;
  for (const char* text :
       {"",    "-",   "+1",   "-+1",      "--1",   "-0",    "-0.0", " 1",    "1 ", "1\n",
        "nan", "inf", "-inf", "infinity", "1e999", "0x1p3", "1,5",  "1.2.3", "e3", "."}) {
    EXPECT_FALSE(ParsePlainDecimal(text, number)) << text;
  }
}

TEST(PlainTimeTest, ATimeHasNoSign) {
  absl::Duration time;
  EXPECT_TRUE(ParsePlainTime("1m30s", time));
  EXPECT_EQ(time, absl::Seconds(90));
  EXPECT_TRUE(ParsePlainTime("0", time));
  for (const char* text : {"", "+1s", "-1s", "-0s", "-0", "+0", " 1s", "1s ", "1", "soon"}) {
    EXPECT_FALSE(ParsePlainTime(text, time)) << text;
  }
}

}  // namespace
}  // namespace winnow
