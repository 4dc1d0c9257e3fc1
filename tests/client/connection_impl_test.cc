#include "client/src/connection_impl.h"

#include <gmock/gmock.h>
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/client/fakes.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::client {
namespace {

using ::testing::IsEmpty;
using ::winnow::testing::FailsWith;
using ::winnow::testing::StatusIs;

class ConnectionImplTest : public ::testing::Test {
 protected:
  ConnectionImplTest() {
    auto stub = std::make_unique<FakeStub>();
    stub_ = stub.get();
    auto transport = std::make_shared<Transport>();
    transport->environment = {stub.get(), &clock_, [] { return 1.0; }, "unix:/t"};
    transport->stub = std::move(stub);
    client_.emplace(std::make_shared<ConnectionImpl>(
        ClientOptions{.target = "unix:/t", .timeout = absl::Seconds(5)}, std::move(transport)));
  }

  FakeClock clock_;
  FakeStub* stub_ = nullptr;  // the client's
  std::optional<Client> client_;
};

TEST_F(ConnectionImplTest, EachCallNamesItsRpc) {
  EXPECT_OK(client_->PlanTopK({}));
  EXPECT_OK(client_->TopK({}));
  EXPECT_OK(client_->BlockAmax({}));
  EXPECT_OK(client_->SortCandidateBlocks({}));
  EXPECT_OK(client_->PublishCandidates({}));
  EXPECT_OK(client_->ConsumeCandidates({}));
  EXPECT_OK(client_->Execute({}));
  EXPECT_OK(client_->AsyncPlanTopK({}).Get());
  EXPECT_OK(client_->AsyncTopK({}).Get());
  EXPECT_OK(client_->AsyncBlockAmax({}).Get());
  EXPECT_OK(client_->AsyncSortCandidateBlocks({}).Get());
  EXPECT_OK(client_->AsyncPublishCandidates({}).Get());
  EXPECT_OK(client_->AsyncConsumeCandidates({}).Get());
  EXPECT_OK(client_->AsyncExecute({}).Get());
  EXPECT_OK(client_->GetServerInfo());
  EXPECT_OK(client_->GetStats());
  EXPECT_OK(client_->ProbeOccupancy({}));
  EXPECT_OK(client_->Drain());
  EXPECT_OK(client_->Health());
  std::vector<std::string> methods;
  for (const FakeStub::Asked& asked : stub_->asked) methods.push_back(asked.method);
  const std::string indexer = "/winnow.v1.IndexerService/";
  const std::string admin = "/winnow.v1.AdminService/";
  EXPECT_THAT(methods,
              ::testing::ElementsAre(
                  indexer + "PlanTopK", indexer + "TopK", indexer + "BlockAmax",
                  indexer + "SortCandidateBlocks", indexer + "PublishCandidates",
                  indexer + "ConsumeCandidates", indexer + "Execute", indexer + "PlanTopK",
                  indexer + "TopK", indexer + "BlockAmax", indexer + "SortCandidateBlocks",
                  indexer + "PublishCandidates", indexer + "ConsumeCandidates", indexer + "Execute",
                  admin + "GetServerInfo", admin + "GetStats", admin + "ProbeOccupancy",
                  admin + "Drain", "/grpc.health.v1.Health/Check"));
}

TEST_F(ConnectionImplTest, TheClientsTimeoutHoldsUnlessTheCallHasItsOwn) {
  EXPECT_OK(client_->TopK({}));
  EXPECT_OK(client_->TopK({}, {.timeout = absl::Seconds(2)}));
  EXPECT_EQ(stub_->asked[0].timeout, absl::Seconds(5));
  EXPECT_EQ(stub_->asked[1].timeout, absl::Seconds(2));
}

TEST_F(ConnectionImplTest, AViewThatCannotBeReadFailsBeforeAnythingIsSent) {
  const TopKRequest bad = {.scores = Float32Matrix(nullptr, 1, 1)};
  EXPECT_THAT(client_->TopK(bad), FailsWith(ErrorReason::kFieldMissing, "step.scores.data"));
  EXPECT_THAT(client_->AsyncTopK(bad).Get(),
              FailsWith(ErrorReason::kFieldMissing, "step.scores.data"));
  EXPECT_THAT(stub_->asked, IsEmpty());
}

TEST_F(ConnectionImplTest, OptionsThatCannotBeUsedFailBeforeAnythingIsSent) {
  const CallOptions bad = {.metadata = {{"Upper", "v"}}};
  EXPECT_THAT(client_->TopK({}, bad), FailsWith(ErrorReason::kValueOutOfRange, "metadata[0] key"));
  EXPECT_THAT(client_->AsyncTopK({}, bad).Get(),
              FailsWith(ErrorReason::kValueOutOfRange, "metadata[0] key"));
  EXPECT_THAT(stub_->asked, IsEmpty());
}

TEST_F(ConnectionImplTest, ReadsOfTheServersStateAreRepeated) {
  stub_->script = {Draining()};
  EXPECT_OK(client_->GetServerInfo());
  EXPECT_EQ(stub_->asked.size(), 2u);
}

TEST_F(ConnectionImplTest, ADrainIsNeverRepeated) {
  stub_->script = {absl::UnavailableError("reset")};
  EXPECT_THAT(client_->Drain({}, {.retry = RetryPolicy{.max_attempts = 9}}),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_EQ(stub_->asked.size(), 1u);
}

TEST_F(ConnectionImplTest, AHealthCheckIsNeverRepeated) {
  stub_->script = {absl::UnavailableError("reset")};
  EXPECT_THAT(client_->Health(), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_EQ(stub_->asked.size(), 1u);
}

TEST_F(ConnectionImplTest, AnUnknownServiceIsAHealthStatus) {
  stub_->script = {absl::NotFoundError("")};
  EXPECT_EQ(*client_->Health("x"), HealthStatus::kServiceUnknown);
  google::protobuf::StringValue request;
  ASSERT_TRUE(request.ParseFromString(stub_->asked[0].request));
  EXPECT_EQ(request.value(), "x");
}

TEST_F(ConnectionImplTest, AMalformedReplyIsInternalInBothForms) {
  v1::TopKResponse response;
  response.mutable_result()->add_outputs()->set_name(v1::OUTPUT_NAME_INDICES);
  stub_->response_bytes = response.SerializeAsString();
  EXPECT_THAT(client_->TopK({}), StatusIs(absl::StatusCode::kInternal, ::testing::_));
  EXPECT_THAT(client_->AsyncTopK({}).Get(), StatusIs(absl::StatusCode::kInternal, ::testing::_));
}

TEST_F(ConnectionImplTest, AStopTokenOfTheCallReachesAnAsyncCall) {
  std::stop_source stop;
  stub_->script = {Draining()};
  stub_->during_call = [&] { stop.request_stop(); };
  EXPECT_THAT(client_->AsyncTopK({}, {.stop = stop.get_token()}).Get(),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace winnow::client
