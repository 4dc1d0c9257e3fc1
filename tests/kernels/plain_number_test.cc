#include "winnow/kernels/plain_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

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
       {std::string(), std::string("-"), std::string("+1"), std::string("--1"), std::string("-+1"),
        std::string(" 1"), std::string("1 "), std::string("- 1"), std::string("1\n"),
        std::string("1\0", 2), std::string("0x1"), std::string("1.0"), std::string("1e3"),
        std::string("1,000"), std::string("\xd9\xa1"), std::string("99999999999999999999")}) {
    EXPECT_FALSE(ParsePlainNumber(text, number)) << text;
  }
}

}  // namespace
}  // namespace winnow
