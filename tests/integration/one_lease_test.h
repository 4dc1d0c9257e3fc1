// For tests of one client of one server: both are there when a test begins.

#ifndef WINNOW_TESTS_INTEGRATION_ONE_LEASE_TEST_H_
#define WINNOW_TESTS_INTEGRATION_ONE_LEASE_TEST_H_

#include <gtest/gtest.h>

#include <memory>

#include "tests/integration/lease_session.h"
#include "tests/integration/server_process.h"

namespace winnow::testing {

class OneLeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.running()) << server_.log();
    OpenLease();
  }
  // Makes session_ another lease.
  void OpenLease() {
    session_ = std::make_unique<LeaseSession>(server_.Connect(server_.unix_target()),
                                              v1::OpenLeaseRequest());
    ASSERT_TRUE(session_->opened());
  }

  ServerProcess server_;
  std::unique_ptr<LeaseSession> session_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_ONE_LEASE_TEST_H_
