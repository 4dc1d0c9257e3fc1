// Every malformed request is refused with its code, reason and field, and the server serves the
// next request unharmed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/rpc/status_mapping.h"
#include "tests/integration/generic_call.h"
#include "tests/integration/malformed_requests.h"
#include "tests/integration/server_process.h"
#include "tests/testing/reference_results.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

class MalformedTest : public ::testing::Test {
 protected:
  MalformedTest()
      : server_({.flags = {absl::StrCat("--max-inline-bytes=", kMalformedInlineLimit)}}) {}

  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }

  void ExpectServes(v1::IndexerService::Stub& indexer) {
    const v1::TopKRequest request = GoodPagedTopK();
    v1::TopKResponse response;
    const grpc::Status status = indexer.TopK(Patient().get(), request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(ElementsOf<int32_t>(FindOutput(response.result().outputs(), v1::OUTPUT_NAME_INDICES)),
              (std::vector<int32_t>{7, 6, 5, 4, 3, 2}));
    EXPECT_EQ(ElementsOf<int32_t>(FindOutput(response.result().outputs(), v1::OUTPUT_NAME_SLOTS)),
              (std::vector<int32_t>{47, 46, 45, 84, 83, 82}));
  }

  ServerProcess server_;
};

TEST_F(MalformedTest, EachIsRefusedWithCodeReasonAndFieldAndTheNextRequestIsServed) {
  const auto channel = server_.Connect(server_.unix_target());
  const auto indexer = v1::IndexerService::NewStub(channel);
  const std::vector<MalformedRequest> requests = AllMalformedRequests();
  std::set<std::string> distinct;
  for (const MalformedRequest& request : requests) {
    SCOPED_TRACE(absl::StrCat(request.method, ": ", request.name));
    distinct.insert(request.method + request.bytes);
    const grpc::Status status =
        CallWithBytes(channel, "winnow.v1." + request.method, request.bytes);
    EXPECT_EQ(status.error_code(), request.code) << status.error_message();
    const auto detail = server::GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << status.error_message();
    EXPECT_EQ(v1::ErrorReason_Name(detail->reason()), v1::ErrorReason_Name(request.reason))
        << status.error_message();
    EXPECT_EQ(detail->field(), request.field) << status.error_message();
    // The message names what the detail names.
    EXPECT_TRUE(absl::StrContains(status.error_message(), request.field)) << status.error_message();
    EXPECT_EQ(detail->retry_after_millis(), 0);
    ExpectServes(*indexer);
  }
  EXPECT_EQ(distinct.size(), requests.size());
  EXPECT_GE(requests.size(), 100u);
  std::printf("%zu malformed requests\n", requests.size());
}

TEST_F(MalformedTest, AMessageFarAboveTheLimitIsRefusedByTheTransportAndTheNextIsServed) {
  const auto channel = server_.Connect(server_.unix_target());
  const grpc::Status status = CallWithBytes(channel, "winnow.v1.IndexerService/TopK",
                                            std::string(16 * kMalformedInlineLimit, '\0'));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ExpectServes(*v1::IndexerService::NewStub(channel));
}

TEST_F(MalformedTest, AMethodThatDoesNotExistIsUnimplemented) {
  const auto channel = server_.Connect(server_.unix_target());
  EXPECT_EQ(CallWithBytes(channel, "winnow.v1.IndexerService/TopQ", "").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  ExpectServes(*v1::IndexerService::NewStub(channel));
}

TEST_F(MalformedTest, RefusalsLeaveNoMemoryBehind) {
  const auto channel = server_.Connect(server_.unix_target());
  const std::vector<MalformedRequest> requests = AllMalformedRequests();
  const auto send_all = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      for (const auto& request : requests)
        CallWithBytes(channel, "winnow.v1." + request.method, request.bytes);
    }
  };
  send_all(2);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory, so that its amount says nothing
  const int64_t before_kib = server_.resident_kib();
  send_all(10);
  // A leak of each request's bytes would be 20 MB; the allocator's own wobble is below 3.
  EXPECT_LT(server_.resident_kib() - before_kib, 6 * 1024);
#endif
  // With AddressSanitizer the server looks for leaks at its end, tells them and fails.
  server_.Signal(SIGTERM);
  EXPECT_EQ(server_.AwaitExit(), 0) << server_.log();
  EXPECT_FALSE(absl::StrContains(server_.log(), "LeakSanitizer")) << server_.log();
}

}  // namespace
}  // namespace winnow::testing
