// What a program's own tests do with the mock.
#include "winnow/client/mock_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"

namespace winnow::client {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Return;
using ::winnow::testing::StatusIs;

TEST(MockConnectionTest, AClientForwardsToTheMock) {
  auto connection = std::make_shared<MockConnection>();
  EXPECT_CALL(*connection, TopK(Field(&TopKRequest::k, 5), _))
      .WillOnce(Return(TopKResult{.indices = Matrix::OfInt32(1, 2, {4, 2})}));
  const auto result = Client(connection).TopK({.k = 5});
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.row<int32_t>(0), ElementsAre(4, 2));
}

TEST(MockConnectionTest, AFutureGivesWhatTheBlockingCallWouldGive) {
  auto connection = std::make_shared<::testing::NiceMock<MockConnection>>();
  EXPECT_CALL(*connection, BlockAmax)
      .WillOnce(Return(MakeError(absl::StatusCode::kResourceExhausted, "full",
                                 {.reason = ErrorReason::kQueueFull})));
  const auto result = Client(connection).AsyncBlockAmax({}).Get();
  EXPECT_TRUE(HasReason(result.status(), ErrorReason::kQueueFull));
}

TEST(MockConnectionTest, APromiseCompletesACallLater) {
  auto connection = std::make_shared<MockConnection>();
  Promise<TopKResult> promise;
  EXPECT_CALL(*connection, AsyncTopK).WillOnce([&](const auto&, const auto&) {
    return promise.future();
  });
  Future<TopKResult> future = Client(connection).AsyncTopK({});
  EXPECT_FALSE(future.ready());
  promise.Set(absl::UnavailableError("gone"));
  EXPECT_THAT(std::move(future).Get(), StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

TEST(MockConnectionTest, AdminCallsAreMockedToo) {
  auto connection = std::make_shared<MockConnection>();
  EXPECT_CALL(*connection, GetServerInfo).WillOnce(Return(ServerInfo{.version = "9"}));
  EXPECT_CALL(*connection, Health("svc", _)).WillOnce(Return(HealthStatus::kServing));
  const Client client(connection);
  EXPECT_EQ(client.GetServerInfo()->version, "9");
  EXPECT_EQ(*client.Health("svc"), HealthStatus::kServing);
}

}  // namespace
}  // namespace winnow::client
