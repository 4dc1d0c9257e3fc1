#include "server/rpc/status_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"
#include "winnow/v1/rpc_status.pb.h"

namespace winnow::server {
namespace {

TEST(StatusMappingTest, ReasonsOfTheLibraryAndOfTheContractHaveEqualNumbersAndNames) {
  const auto* contract = v1::ErrorReason_descriptor();
  for (int i = 0; i < contract->value_count(); ++i) {
    const auto* value = contract->value(i);
    EXPECT_EQ(value->name(),
              absl::StrCat("ERROR_REASON_", Name(static_cast<ErrorReason>(value->number()))));
  }
  // The number after the last one has no name on either side.
  const int past = contract->value(contract->value_count() - 1)->number() + 1;
  EXPECT_EQ(Name(static_cast<ErrorReason>(past)), "UNSPECIFIED");
  EXPECT_FALSE(v1::ErrorReason_IsValid(past));
}

TEST(StatusMappingTest, AnErrorKeepsEveryFieldThereAndBack) {
  const absl::Status sent = MakeError(absl::StatusCode::kInvalidArgument, "lengths[3] is 9",
                                      {.reason = ErrorReason::kLengthOutOfRange,
                                       .field = "step.lengths",
                                       .value = "9",
                                       .limit = "at most 8",
                                       .row = 3});
  const absl::Status received = FromGrpcStatus(ToGrpcStatus(sent));
  EXPECT_EQ(received.code(), sent.code());
  EXPECT_EQ(received.message(), sent.message());
  const auto info = GetErrorInfo(received);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason, ErrorReason::kLengthOutOfRange);
  EXPECT_EQ(info->field, "step.lengths");
  EXPECT_EQ(info->value, "9");
  EXPECT_EQ(info->limit, "at most 8");
  EXPECT_EQ(info->row, 3);
}

TEST(StatusMappingTest, OkHasNoDetails) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).error_details().empty());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK).ok());
}

TEST(StatusMappingTest, AFullQueueSuggestsASoonRetryAndADrainingServerALaterOne) {
  const auto detail_of = [](absl::StatusCode code, ErrorReason reason) {
    return *GetErrorDetail(ToGrpcStatus(MakeError(code, "no", {.reason = reason})));
  };
  const auto full = detail_of(absl::StatusCode::kResourceExhausted, ErrorReason::kQueueFull);
  const auto draining = detail_of(absl::StatusCode::kUnavailable, ErrorReason::kServerDraining);
  EXPECT_GT(full.retry_after_millis(), 0);
  EXPECT_GT(draining.retry_after_millis(), full.retry_after_millis());
  EXPECT_EQ(
      detail_of(absl::StatusCode::kInvalidArgument, ErrorReason::kKOutOfRange).retry_after_millis(),
      0);
}

TEST(StatusMappingTest, ASuggestionOfTheLayersBelowWins) {
  const auto detail = GetErrorDetail(
      ToGrpcStatus(MakeError(absl::StatusCode::kResourceExhausted, "no",
                             {.reason = ErrorReason::kQueueFull, .retry_after_millis = 777})));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->retry_after_millis(), 777);
}

TEST(StatusMappingTest, AnErrorWithoutInfoGetsTheReasonOfItsCode) {
  const auto reason_of = [](const absl::Status& status) {
    return GetErrorDetail(ToGrpcStatus(status))->reason();
  };
  EXPECT_EQ(reason_of(absl::InternalError("x")), v1::ERROR_REASON_INTERNAL);
  EXPECT_EQ(reason_of(absl::UnknownError("x")), v1::ERROR_REASON_INTERNAL);
  EXPECT_EQ(reason_of(absl::CancelledError("x")), v1::ERROR_REASON_REQUEST_CANCELLED);
  EXPECT_EQ(reason_of(absl::DeadlineExceededError("x")), v1::ERROR_REASON_DEADLINE_EXPIRED);
  EXPECT_EQ(reason_of(absl::UnimplementedError("x")), v1::ERROR_REASON_NOT_IN_BUILD);
}

TEST(StatusMappingTest, TheEnvelopeRepeatsCodeAndMessage) {
  v1::RpcStatus envelope;
  ASSERT_TRUE(envelope.ParseFromString(
      ToGrpcStatus(absl::FailedPreconditionError("plan again")).error_details()));
  EXPECT_EQ(envelope.code(), 9);
  EXPECT_EQ(envelope.message(), "plan again");
  ASSERT_EQ(envelope.details_size(), 1);
  EXPECT_EQ(envelope.details(0).type_url(), "type.googleapis.com/winnow.v1.ErrorDetail");
}

TEST(StatusMappingTest, DetailsThatAreNoEnvelopeAreIgnored) {
  const grpc::Status garbage(grpc::StatusCode::INTERNAL, "broken", "\xff\xff\xff");
  EXPECT_FALSE(GetErrorDetail(garbage).has_value());
  EXPECT_EQ(FromGrpcStatus(garbage).code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(GetErrorInfo(FromGrpcStatus(garbage)).has_value());
}

}  // namespace
}  // namespace winnow::server
