#include "server/rpc/slow_request_log.h"

#include <gtest/gtest.h>

namespace winnow::server {
namespace {

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";

TEST(SlowRequestTest, OnlyWhatTakesLongerThanTheThresholdIsSlow) {
  EXPECT_FALSE(IsSlowRequest(absl::Hours(1)));
  SetSlowRequestThreshold(absl::Milliseconds(5));
  EXPECT_FALSE(IsSlowRequest(absl::Milliseconds(5)));
  EXPECT_TRUE(IsSlowRequest(absl::Milliseconds(6)));
  SetSlowRequestThreshold(absl::ZeroDuration());
  EXPECT_FALSE(IsSlowRequest(absl::InfiniteDuration()));
}

TEST(TraceparentTest, TraceAndSpanAreTaken) {
  const TraceIds ids = ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_EQ(ids.trace, kTrace);
  EXPECT_EQ(ids.span, "b7ad6b7169203331");
  EXPECT_EQ(ParseTraceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later").trace,
            kTrace);
}

TEST(TraceparentTest, WhatIsMalformedIsDropped) {
  for (const char* text : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c8031\n9-b7ad6b7169203331-01",
                           "00-0af7-b7ad6b7169203331-01"}) {
    EXPECT_EQ(ParseTraceparent(text).trace, "") << text;
  }
}

}  // namespace
}  // namespace winnow::server
