#include "client/src/status_decoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"
#include "winnow/client/error.h"
#include "winnow/v1/error_detail.pb.h"
#include "winnow/v1/rpc_status.pb.h"

namespace winnow::client {
namespace {

using ::winnow::testing::StatusIs;

grpc::Status WithDetails(const std::string& details) {
  return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "message", details);
}

std::string Envelope(const google::protobuf::Message& detail) {
  v1::RpcStatus status;
  status.add_details()->PackFrom(detail);
  return status.SerializeAsString();
}

TEST(StatusDecodingTest, OkStaysOk) { EXPECT_OK(FromGrpcStatus(grpc::Status::OK)); }

TEST(StatusDecodingTest, CodesKeepTheirNumbers) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status =
        FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(code), "m"));
    EXPECT_EQ(status.raw_code(), code);
    EXPECT_EQ(status.message(), "m");
  }
  // No code has this number, but the enumeration can hold it.
  EXPECT_TRUE(absl::IsUnknown(FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(20), ""))));
}

TEST(StatusDecodingTest, EveryFieldOfTheDetailArrives) {
  v1::ErrorDetail detail;
  detail.set_reason(v1::ERROR_REASON_LENGTH_OUT_OF_RANGE);
  detail.set_field("step.lengths");
  detail.set_value("70000");
  detail.set_limit("65536");
  detail.set_row(17);
  detail.set_retry_after_millis(250);
  const auto info = GetErrorInfo(FromGrpcStatus(WithDetails(Envelope(detail))));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason, ErrorReason::kLengthOutOfRange);
  EXPECT_EQ(info->field, "step.lengths");
  EXPECT_EQ(info->value, "70000");
  EXPECT_EQ(info->limit, "65536");
  EXPECT_EQ(info->row, 17);
  EXPECT_EQ(info->retry_after_millis, 250);
}

TEST(StatusDecodingTest, TheDetailIsFoundAmongOthers) {
  v1::RpcStatus status;
  status.add_details()->PackFrom(v1::RpcStatus());
  v1::ErrorDetail detail;
  detail.set_reason(v1::ERROR_REASON_QUEUE_FULL);
  status.add_details()->PackFrom(detail);
  EXPECT_TRUE(
      HasReason(FromGrpcStatus(WithDetails(status.SerializeAsString())), ErrorReason::kQueueFull));
}

TEST(StatusDecodingTest, DetailsThatCannotBeReadAreIgnored) {
  v1::RpcStatus damaged;
  damaged.add_details()->PackFrom(v1::ErrorDetail());
  damaged.mutable_details(0)->set_value("\xff\xff");
  for (const std::string& details :
       {std::string("\xff garbage"), damaged.SerializeAsString(), Envelope(v1::RpcStatus()),
        v1::RpcStatus().SerializeAsString()}) {
    const absl::Status status = FromGrpcStatus(WithDetails(details));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, "message"));
    EXPECT_FALSE(GetErrorInfo(status).has_value());
  }
}

TEST(StatusDecodingTest, ControlBytesOfAForeignServerDoNotConfuseTheInfo) {
  v1::ErrorDetail detail;
  detail.set_reason(v1::ERROR_REASON_K_OUT_OF_RANGE);
  detail.set_field(
      "a\x1f"
      "9\x1f"
      "b\n");
  const auto info = GetErrorInfo(FromGrpcStatus(WithDetails(Envelope(detail))));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->field, "a9b");
}

TEST(StatusDecodingTest, AReasonOfANewerServerKeepsItsNumber) {
  v1::ErrorDetail detail;
  detail.set_reason(static_cast<v1::ErrorReason>(4711));
  detail.set_retry_after_millis(-5);
  const auto info = GetErrorInfo(FromGrpcStatus(WithDetails(Envelope(detail))));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(static_cast<int>(info->reason), 4711);
  EXPECT_EQ(Name(info->reason), "UNSPECIFIED");
  EXPECT_EQ(info->retry_after_millis, 0);
}

TEST(StatusDecodingTest, ACallThatNobodyHereCancelledWasDroppedByItsServer) {
  const grpc::Status bare(grpc::StatusCode::CANCELLED, "RST_STREAM");
  EXPECT_THAT(FromAttempt(bare, false),
              StatusIs(absl::StatusCode::kUnavailable, "the server dropped the call: RST_STREAM"));
  EXPECT_THAT(FromAttempt(bare, true), StatusIs(absl::StatusCode::kCancelled, "RST_STREAM"));
}

TEST(StatusDecodingTest, ACancellationThatTheServerExplainsStaysOne) {
  v1::ErrorDetail detail;
  detail.set_reason(v1::ERROR_REASON_REQUEST_CANCELLED);
  const grpc::Status explained(grpc::StatusCode::CANCELLED, "message", Envelope(detail));
  const absl::Status status = FromAttempt(explained, false);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled, "message"));
  EXPECT_EQ(GetErrorInfo(status)->reason, ErrorReason::kRequestCancelled);
}

}  // namespace
}  // namespace winnow::client
