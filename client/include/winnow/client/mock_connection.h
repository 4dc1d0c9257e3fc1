// A connection for the tests of programs that use a Client. Needs GoogleMock; nothing else in the
// library does.
//
//   auto connection = std::make_shared<winnow::client::MockConnection>();
//   EXPECT_CALL(*connection, TopK).WillOnce(Return(result));
//   MyEngine engine(winnow::client::Client(connection));
//
// Programs that open a lease get the double of mock_lease_connection.h from OpenLease.

#ifndef WINNOW_CLIENT_MOCK_CONNECTION_H_
#define WINNOW_CLIENT_MOCK_CONNECTION_H_

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "winnow/client/connection.h"
#include "winnow/client/lease_connection.h"

namespace winnow::client {

// Without an expectation of its own a future-returning method gives a ready future of what the
// blocking one returns, so that a test expects each operation once, however it is called. To
// complete a call later, return the future of a Promise. Thread safety: GoogleMock's.
class MockConnection : public Connection {
 public:
  MockConnection() {
    using ::testing::_;
    ON_CALL(*this, AsyncPlanTopK(_, _))
        .WillByDefault([this](const auto& request, const auto& options) {
          return ReadyFuture(PlanTopK(request, options));
        });
    ON_CALL(*this, AsyncTopK(_, _)).WillByDefault([this](const auto& request, const auto& options) {
      return ReadyFuture(TopK(request, options));
    });
    ON_CALL(*this, AsyncBlockAmax(_, _))
        .WillByDefault([this](const auto& request, const auto& options) {
          return ReadyFuture(BlockAmax(request, options));
        });
    ON_CALL(*this, AsyncSortCandidateBlocks(_, _))
        .WillByDefault([this](const auto& request, const auto& options) {
          return ReadyFuture(SortCandidateBlocks(request, options));
        });
    ON_CALL(*this, AsyncPublishCandidates(_, _))
        .WillByDefault([this](const auto& request, const auto& options) {
          return ReadyFuture(PublishCandidates(request, options));
        });
    ON_CALL(*this, AsyncConsumeCandidates(_, _))
        .WillByDefault([this](const auto& request, const auto& options) {
          return ReadyFuture(ConsumeCandidates(request, options));
        });
    ON_CALL(*this, AsyncExecute(_, _))
        .WillByDefault([this](const auto& request, const auto& options) {
          return ReadyFuture(Execute(request, options));
        });
  }

  MOCK_METHOD(absl::StatusOr<PlanTopKResult>, PlanTopK,
              (const PlanTopKRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<TopKResult>, TopK, (const TopKRequest&, const CallOptions&),
              (override));
  MOCK_METHOD(absl::StatusOr<BlockAmaxResult>, BlockAmax,
              (const BlockAmaxRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<SortCandidateBlocksResult>, SortCandidateBlocks,
              (const SortCandidateBlocksRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<PublishCandidatesResult>, PublishCandidates,
              (const PublishCandidatesRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<ConsumeCandidatesResult>, ConsumeCandidates,
              (const ConsumeCandidatesRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<ExecuteResult>, Execute, (const ExecuteRequest&, const CallOptions&),
              (override));

  MOCK_METHOD(Future<PlanTopKResult>, AsyncPlanTopK, (const PlanTopKRequest&, const CallOptions&),
              (override));
  MOCK_METHOD(Future<TopKResult>, AsyncTopK, (const TopKRequest&, const CallOptions&), (override));
  MOCK_METHOD(Future<BlockAmaxResult>, AsyncBlockAmax,
              (const BlockAmaxRequest&, const CallOptions&), (override));
  MOCK_METHOD(Future<SortCandidateBlocksResult>, AsyncSortCandidateBlocks,
              (const SortCandidateBlocksRequest&, const CallOptions&), (override));
  MOCK_METHOD(Future<PublishCandidatesResult>, AsyncPublishCandidates,
              (const PublishCandidatesRequest&, const CallOptions&), (override));
  MOCK_METHOD(Future<ConsumeCandidatesResult>, AsyncConsumeCandidates,
              (const ConsumeCandidatesRequest&, const CallOptions&), (override));
  MOCK_METHOD(Future<ExecuteResult>, AsyncExecute, (const ExecuteRequest&, const CallOptions&),
              (override));

  MOCK_METHOD(absl::StatusOr<std::shared_ptr<LeaseConnection>>, OpenLease,
              (const LeaseOptions&, const CallOptions&), (override));

  MOCK_METHOD(absl::StatusOr<ServerInfo>, GetServerInfo, (const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<ServerStats>, GetStats, (const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<int32_t>, ProbeOccupancy,
              (const ProbeOccupancyRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<DrainResult>, Drain, (const DrainRequest&, const CallOptions&),
              (override));
  MOCK_METHOD(absl::StatusOr<std::vector<LeaseDescription>>, ListLeases, (const CallOptions&),
              (override));
  MOCK_METHOD(absl::Status, EndLease, (const EndLeaseRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<HealthStatus>, Health, (const std::string&, const CallOptions&),
              (override));
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_MOCK_CONNECTION_H_
