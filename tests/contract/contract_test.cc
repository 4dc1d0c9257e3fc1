#include "tests/contract/contract_test.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "tests/contract/block_check.h"
#include "tests/contract/report_check.h"
#include "tests/contract/topk_check.h"
#include "tests/testing/required_device.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::contract {
namespace {

// Devices are opened once and live until the program ends.
const absl::StatusOr<std::unique_ptr<Device>>& OpenOnce(const DeviceUnderTest& under_test) {
  static auto* const devices = new std::map<std::string, absl::StatusOr<std::unique_ptr<Device>>>;
  const auto found = devices->find(under_test.name);
  if (found != devices->end()) return found->second;
  return devices->emplace(under_test.name, under_test.open()).first->second;
}

Scale ChooseScale(const Device& device) {
  const char* chosen = std::getenv("WINNOW_CONTRACT_SCALE");
  const std::string scale = chosen == nullptr ? "" : chosen;
  if (scale == "small") return Scale::kSmall;
  if (scale == "medium") return Scale::kMedium;
  if (scale == "full") return Scale::kFull;
  return device.info().kind == "cpu" ? Scale::kMedium : Scale::kFull;
}

uint64_t Hash(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001b3u;
  return hash;
}

// Runs one launch of `requests` and judges it.
template <typename Layout, typename Request, typename Params, typename Launch, typename Check>
::testing::AssertionResult RunAndCheck(Executor& executor, const Params& params,
                                       const std::vector<Request>& requests, Launch launch,
                                       Check check) {
  MemoryImage before;
  std::vector<Layout> layouts;
  for (const Request& request : requests) layouts.emplace_back(params, request, before);
  MemoryImage after = before;
  const absl::Status ran =
      executor.Run(after, [&](Stream& stream, std::byte* base) -> absl::Status {
        std::vector<decltype(layouts[0].At(base))> segments;
        for (const Layout& layout : layouts) segments.push_back(layout.At(base));
        return launch(stream, absl::MakeConstSpan(segments));
      });
  if (!ran.ok()) return ::testing::AssertionFailure() << ran;
  if (const absl::Status guard = executor.CheckWorkspaceGuard(); !guard.ok()) {
    return ::testing::AssertionFailure() << guard;
  }
  return check(params, layouts, before, after);
}

}  // namespace

void ContractTest::SetUp() {
  const auto& opened = OpenOnce(GetParam());
  if (!opened.ok() && !testing::DeviceIsRequired()) {
    GTEST_SKIP() << "no device: " << opened.status();
  }
  ASSERT_OK(opened);
  device_ = opened->get();
  scale_ = ChooseScale(*device_);
  auto executor = Executor::Create(*device_);
  ASSERT_OK(executor);
  executor_ = *std::move(executor);
  const char* name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  random_ = std::make_unique<testing::Random>(testing::SeedFromEnvironment("WINNOW_CONTRACT_SEED") ^
                                              Hash(name));
}

int ContractTest::Repetitions(int full) const {
  if (scale_ == Scale::kFull) return full;
  return std::max(1, scale_ == Scale::kMedium ? full / 4 : full / 40);
}

::testing::AssertionResult RunTopK(Executor& executor, const TopKParams& params,
                                   const std::vector<TopKRequest>& requests) {
  Device& device = executor.device();
  const auto launch = [&](Stream& stream, absl::Span<const TopKSegment> segments) -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const auto workspace,
                            executor.Workspace(device.TopKWorkspaceBytes(params, segments)));
    return device.TopK(stream, params, segments, workspace);
  };
  return RunAndCheck<TopKLayout>(executor, params, requests, launch, CheckTopK)
         << " (dtype " << Name(params.dtype) << " k " << params.k << " order "
         << static_cast<int>(params.order) << " deterministic " << params.deterministic << ")";
}

void ContractTest::ExpectTopK(const TopKParams& params, const std::vector<TopKRequest>& requests) {
  EXPECT_TRUE(RunTopK(executor(), params, requests));
}

void ContractTest::ExpectTopKInAllModes(DType dtype, int32_t k, const TopKRequest& request) {
  for (const Order order : {Order::kAny, Order::kPosition, Order::kScore}) {
    for (const bool deterministic : {false, true}) {
      ExpectTopK({.dtype = dtype, .k = k, .order = order, .deterministic = deterministic},
                 {request});
    }
  }
}

void ContractTest::ExpectBlockAmax(const BlockAmaxParams& params,
                                   const std::vector<BlockAmaxRequest>& requests) {
  const auto launch = [&](Stream& stream, absl::Span<const BlockAmaxSegment> segments) {
    return device().BlockAmax(stream, params, segments);
  };
  EXPECT_TRUE(RunAndCheck<BlockAmaxLayout>(executor(), params, requests, launch, CheckBlockAmaxRun))
      << "dtype " << Name(params.dtype) << " block size " << params.block_size << " skip "
      << params.skip_at_most;
}

void ContractTest::ExpectSortBlocks(const SortBlocksParams& params,
                                    const std::vector<SortBlocksRequest>& requests) {
  const auto launch = [&](Stream& stream, absl::Span<const SortBlocksSegment> segments) {
    return device().SortCandidateBlocks(stream, params, segments);
  };
  EXPECT_TRUE(
      RunAndCheck<SortBlocksLayout>(executor(), params, requests, launch, CheckSortBlocksRun))
      << "width " << params.width << " block size " << params.block_size;
}

void ContractTest::ExpectPublish(const PublishParams& params,
                                 const std::vector<PublishRequest>& requests) {
  const auto launch = [&](Stream& stream,
                          absl::Span<const PublishSegment> segments) -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const auto workspace,
                            executor().Workspace(device().PublishWorkspaceBytes(params, segments)));
    return device().PublishCandidates(stream, params, segments, workspace);
  };
  EXPECT_TRUE(RunAndCheck<PublishLayout>(executor(), params, requests, launch, CheckPublishRun))
      << "dtype " << Name(params.dtype) << " k " << params.k << " k_blocks " << params.k_blocks
      << " block size " << params.block_size << " deterministic " << params.deterministic;
}

}  // namespace winnow::contract
