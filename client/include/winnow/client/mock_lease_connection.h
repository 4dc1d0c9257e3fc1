// A lease for the tests of programs that use one. Needs GoogleMock.
//
//   auto lease = std::make_shared<::testing::NiceMock<winnow::client::MockLeaseConnection>>();
//   EXPECT_CALL(*connection, OpenLease).WillOnce(Return(lease));  // a MockConnection
//   EXPECT_CALL(*lease, AllocateBuffer(4096, _)).WillOnce(Return(ResourceRef{1, 7}));

#ifndef WINNOW_CLIENT_MOCK_LEASE_CONNECTION_H_
#define WINNOW_CLIENT_MOCK_LEASE_CONNECTION_H_

#include <gmock/gmock.h>

#include <memory>

#include "winnow/client/lease_connection.h"

namespace winnow::client {

// Thread safety: GoogleMock's.
class MockLeaseConnection : public LeaseConnection {
 public:
  MOCK_METHOD(absl::Status, Close, (const CallOptions&), (override));
  MOCK_METHOD(void, End, (), (override));
  MOCK_METHOD(std::shared_ptr<Connection>, operations, (), (override));
  MOCK_METHOD(LeaseQuota, quota, (), (const, override));
  MOCK_METHOD(int32_t, device, (), (const, override));
  MOCK_METHOD(absl::Status, status, (), (const, override));

  MOCK_METHOD(absl::StatusOr<ResourceRef>, AllocateBuffer, (int64_t, const CallOptions&),
              (override));
  MOCK_METHOD(absl::StatusOr<ResourceRef>, ImportBuffer,
              (const SharedMemoryRange&, const CallOptions&), (override));
  MOCK_METHOD(absl::Status, WriteBuffer,
              (const ResourceRef&, int64_t, absl::Span<const std::byte>, const CallOptions&),
              (override));
  MOCK_METHOD(absl::Status, ReadBuffer,
              (const ResourceRef&, int64_t, absl::Span<std::byte>, const CallOptions&), (override));
  MOCK_METHOD(bool, ContentsLost, (const ResourceRef&), (const, override));
  MOCK_METHOD(void, AcceptLoss, (const ResourceRef&), (override));

  MOCK_METHOD(absl::StatusOr<ResourceRef>, CreatePageTable,
              (const PageTableOptions&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<int64_t>, UpdatePageTable,
              (const ResourceRef&, const PageTableUpdate&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<ResourceRef>, ForkPageTable,
              (const ResourceRef&, absl::Span<const int64_t>, const CallOptions&), (override));
  MOCK_METHOD(int64_t, PageTableVersion, (const ResourceRef&), (const, override));

  MOCK_METHOD(absl::StatusOr<ResourceRef>, CreatePlan, (const PlanTopKRequest&, const CallOptions&),
              (override));
  MOCK_METHOD(PlanTopKResult, PlanSummary, (const ResourceRef&), (const, override));

  MOCK_METHOD(absl::Status, Release, (const ResourceRef&, const CallOptions&), (override));
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_MOCK_LEASE_CONNECTION_H_
