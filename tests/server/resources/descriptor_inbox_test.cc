#include "server/resources/descriptor_inbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using winnow::testing::IsOk;
using winnow::testing::IsOverQuota;

UniqueFd MakeDescriptor() { return UniqueFd(memfd_create("test", MFD_CLOEXEC)); }

class DescriptorInboxTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  DescriptorInbox inbox_{{.max_waiting = 3, .max_waiting_per_lease = 2}, &clock_};
};

TEST_F(DescriptorInboxTest, ATokenIsGoodOnce) {
  UniqueFd descriptor = MakeDescriptor();
  const int number = descriptor.get();
  const auto token = inbox_.Put("a", std::move(descriptor));
  ASSERT_THAT(token, IsOk());
  const auto taken = inbox_.Take("a", *token);
  ASSERT_THAT(taken, IsOk());
  EXPECT_EQ(taken->get(), number);
  EXPECT_THAT(inbox_.Take("a", *token), FailsWith(ErrorReason::kResourceNotFound, "import_token"));
}

TEST_F(DescriptorInboxTest, AnotherLeaseCannotTakeItAndItStays) {
  const auto token = inbox_.Put("a", MakeDescriptor());
  EXPECT_THAT(inbox_.Take("b", *token), FailsWith(ErrorReason::kResourceForeign, "import_token"));
  EXPECT_THAT(inbox_.Take("a", *token), IsOk());
}

TEST_F(DescriptorInboxTest, AnExpiredDescriptorIsClosed) {
  UniqueFd descriptor = MakeDescriptor();
  const int number = descriptor.get();
  const auto token = inbox_.Put("a", std::move(descriptor));
  clock_.Advance(absl::Minutes(1));
  inbox_.DropExpired();
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
  EXPECT_THAT(inbox_.Take("a", *token), FailsWith(ErrorReason::kResourceNotFound, "import_token"));
}

TEST_F(DescriptorInboxTest, WaitingDescriptorsAreBoundedByLeaseAndServer) {
  EXPECT_THAT(inbox_.Put("a", MakeDescriptor()), IsOk());
  EXPECT_THAT(inbox_.Put("a", MakeDescriptor()), IsOk());
  EXPECT_THAT(inbox_.Put("a", MakeDescriptor()), IsOverQuota("2, the descriptors of the lease"));
  EXPECT_THAT(inbox_.Put("b", MakeDescriptor()), IsOk());
  EXPECT_THAT(inbox_.Put("c", MakeDescriptor()), IsOverQuota("3, the descriptors of the server"));
  EXPECT_EQ(inbox_.waiting(), 3);
}

}  // namespace
}  // namespace winnow::server
