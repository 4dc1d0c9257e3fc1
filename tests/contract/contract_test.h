// The fixture of the contract suite: one device under test, and the checks that run a launch on it
// and judge the result. A device joins with a file like contract_cpu_test.cc.

#ifndef WINNOW_TESTS_CONTRACT_CONTRACT_TEST_H_
#define WINNOW_TESTS_CONTRACT_CONTRACT_TEST_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/contract/block_requests.h"
#include "tests/contract/memory_image.h"
#include "tests/contract/topk_request.h"
#include "tests/testing/random.h"
#include "winnow/kernels/device.h"

namespace winnow::contract {

struct DeviceUnderTest {
  std::string name;
  std::function<absl::StatusOr<std::unique_ptr<Device>>()> open;

  friend void PrintTo(const DeviceUnderTest& under_test, std::ostream* out) {
    *out << under_test.name;
  }
};

// How much is run: kSmall under sanitizers, kMedium on a CPU, kFull on a GPU.
// WINNOW_CONTRACT_SCALE=small|medium|full chooses another one.
enum class Scale { kSmall, kMedium, kFull };

// One launch of all requests on `executor`, compared with the reference. Safe from several threads
// with different executors.
::testing::AssertionResult RunTopK(Executor& executor, const TopKParams& params,
                                   const std::vector<TopKRequest>& requests);

class ContractTest : public ::testing::TestWithParam<DeviceUnderTest> {
 protected:
  // Skips the test, saying why, when the device does not answer.
  void SetUp() override;

  Device& device() { return *device_; }
  Executor& executor() { return *executor_; }
  Scale scale() const { return scale_; }
  // `full` on a GPU, less on slower ones.
  int Repetitions(int full) const;
  // Rows longer than this are left out.
  int64_t MaxLength() const { return scale_ == Scale::kSmall ? 16384 : kMaxColumns; }
  // Differs from test to test; all follow from WINNOW_CONTRACT_SEED.
  testing::Random& random() { return *random_; }

  // One launch of all requests, compared with the reference.
  void ExpectTopK(const TopKParams& params, const std::vector<TopKRequest>& requests);
  // The same request in every order and with and without `deterministic`.
  void ExpectTopKInAllModes(DType dtype, int32_t k, const TopKRequest& request);
  void ExpectBlockAmax(const BlockAmaxParams& params,
                       const std::vector<BlockAmaxRequest>& requests);
  void ExpectSortBlocks(const SortBlocksParams& params,
                        const std::vector<SortBlocksRequest>& requests);
  void ExpectPublish(const PublishParams& params, const std::vector<PublishRequest>& requests);

 private:
  Device* device_ = nullptr;
  Scale scale_ = Scale::kMedium;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<testing::Random> random_;
};

}  // namespace winnow::contract

#endif  // WINNOW_TESTS_CONTRACT_CONTRACT_TEST_H_
