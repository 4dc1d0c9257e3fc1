// What a program's own tests do with the double of a lease, and when resources are released.

#include "winnow/client/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/testing/status_matchers.h"
#include "winnow/client/mock_connection.h"
#include "winnow/client/mock_lease_connection.h"

namespace winnow::client {
namespace {

using ::testing::_;
using ::testing::InSequence;
using ::testing::NiceMock;
using ::testing::Return;
using ::winnow::testing::FailsWith;

constexpr ResourceRef kFirst = {1, 7};
constexpr ResourceRef kSecond = {1, 8};

TEST(LeaseTest, AClientOpensTheDouble) {
  const auto lease = std::make_shared<NiceMock<MockLeaseConnection>>();
  const auto connection = std::make_shared<MockConnection>();
  EXPECT_CALL(*connection, OpenLease).WillOnce(Return(std::shared_ptr<LeaseConnection>(lease)));
  EXPECT_CALL(*lease, AllocateBuffer(4096, _)).WillOnce(Return(kFirst));
  EXPECT_CALL(*lease, operations()).WillOnce(Return(connection));
  EXPECT_CALL(*connection, TopK).WillOnce(Return(TopKResult{.negative_rows = 3}));
  const auto opened = Client(connection).OpenLease();
  ASSERT_OK(opened);
  const auto buffer = opened->AllocateBuffer(4096);
  ASSERT_OK(buffer);
  EXPECT_EQ(buffer->ref(), kFirst);
  EXPECT_EQ(buffer->AsMatrix(DType::kFloat32, 2, 3, 8).offset_bytes, 8);
  EXPECT_EQ(opened->client().TopK({})->negative_rows, 3);
}

TEST(LeaseTest, EachResourceIsReleasedOnceAndTheLeaseEndsOnce) {
  const auto connection = std::make_shared<MockLeaseConnection>();
  InSequence in_this_order;
  EXPECT_CALL(*connection, AllocateBuffer).WillOnce(Return(kFirst));
  EXPECT_CALL(*connection, CreatePlan).WillOnce(Return(kSecond));
  EXPECT_CALL(*connection, Release(kSecond, _)).WillOnce(Return(absl::OkStatus()));
  EXPECT_CALL(*connection, Release(kFirst, _)).WillOnce(Return(absl::UnavailableError("later")));
  EXPECT_CALL(*connection, End());
  Lease lease(connection);
  Buffer buffer = *lease.AllocateBuffer(64);
  {
    Plan plan = *lease.CreatePlan({});
    Plan moved = std::move(plan);
    EXPECT_FALSE(plan.valid());
    EXPECT_TRUE(moved.valid());
  }
  EXPECT_TRUE(absl::IsUnavailable(buffer.Release()));
  EXPECT_OK(buffer.Release());
  EXPECT_THAT(buffer.Write(0, {}), FailsWith(ErrorReason::kFieldMissing, ""));
  EXPECT_FALSE(buffer.ref().is_set());
  Lease moved = std::move(lease);
}

TEST(LeaseTest, CloseTakesOptionsAndSaysHowItWent) {
  const auto connection = std::make_shared<MockLeaseConnection>();
  InSequence in_this_order;
  EXPECT_CALL(*connection, Close).WillOnce([](const CallOptions& options) {
    EXPECT_EQ(options.timeout, absl::Seconds(3));
    return absl::UnavailableError("gone");
  });
  EXPECT_CALL(*connection, End());
  const Lease lease(connection);
  EXPECT_TRUE(absl::IsUnavailable(lease.Close({.timeout = absl::Seconds(3)})));
}

TEST(LeaseTest, AssigningReleasesWhatWasHeld) {
  const auto connection = std::make_shared<NiceMock<MockLeaseConnection>>();
  EXPECT_CALL(*connection, CreatePageTable).WillOnce(Return(kFirst)).WillOnce(Return(kSecond));
  const Lease lease(connection);
  PageTable table = *lease.CreatePageTable({.rows = 1});
  EXPECT_CALL(*connection, Release(kFirst, _));
  table = *lease.CreatePageTable({.rows = 2});
  ::testing::Mock::VerifyAndClearExpectations(connection.get());
  EXPECT_EQ(table.rows(), 2);
  EXPECT_CALL(*connection, Release(kSecond, _));
}

TEST(LeaseTest, AppendAndForkNameTheirRows) {
  const auto connection = std::make_shared<NiceMock<MockLeaseConnection>>();
  EXPECT_CALL(*connection, CreatePageTable).WillOnce(Return(kFirst));
  EXPECT_CALL(*connection, UpdatePageTable(kFirst, _, _))
      .WillOnce([](const ResourceRef&, const PageTableUpdate& update, const CallOptions&) {
        EXPECT_EQ(update.appends.size(), 1u);
        EXPECT_EQ(update.appends[0].row, 5);
        EXPECT_THAT(update.appends[0].page_ids, ::testing::ElementsAre(1, 2));
        return 2;
      });
  EXPECT_CALL(*connection, ForkPageTable(kFirst, ::testing::ElementsAre(3, 3), _))
      .WillOnce(Return(kSecond));
  const Lease lease(connection);
  const PageTable table = *lease.CreatePageTable({.rows = 8, .columns = 4});
  EXPECT_EQ(*table.Append(5, {1, 2}), 2);
  const auto fork = table.Fork(std::vector<int64_t>{3, 3});
  ASSERT_OK(fork);
  EXPECT_EQ(fork->rows(), 2);
  EXPECT_EQ(fork->columns(), 4);
  EXPECT_EQ(fork->View().resource, kSecond);
}

}  // namespace
}  // namespace winnow::client
