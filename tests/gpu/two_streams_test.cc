// Two streams at once, a thousand launches each, no wait in between: every launch has its own
// memory and must leave in it, bit for bit, what the reference leaves.

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/contract/block_requests.h"
#include "tests/contract/topk_request.h"
#include "tests/gpu/gpu_test.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/reference.h"

namespace winnow::gpu {
namespace {

using contract::MemoryImage;

constexpr int kLaunches = 1000;
constexpr int kVariants = 24;
constexpr TopKParams kTopK = {.k = 64, .deterministic = true};
constexpr BlockAmaxParams kAmax = {};
constexpr SortBlocksParams kSort = {.width = 200};

// One launch: its memory before, and what the reference makes of it.
struct Variant {
  enum class Kind { kTopK, kAmax, kSort } kind = Kind::kTopK;
  MemoryImage before, after;
  std::vector<contract::TopKLayout> topk;
  std::vector<contract::BlockAmaxLayout> amax;
  std::vector<contract::SortBlocksLayout> sort;

  absl::Status Reference() {
    after = before;
    switch (kind) {
      case Kind::kTopK:
        return reference::TopK(kTopK, topk[0].At(after.data()));
      case Kind::kAmax:
        return reference::BlockAmax(kAmax, amax[0].At(after.data()));
      case Kind::kSort:
        return reference::SortCandidateBlocks(kSort, sort[0].At(after.data()));
    }
    return absl::InternalError("unknown kind");
  }

  absl::Status Launch(Device& device, Stream& stream, std::byte* base,
                      absl::Span<std::byte> workspace) const {
    switch (kind) {
      case Kind::kTopK: {
        const TopKSegment segment = topk[0].At(base);
        return device.TopK(stream, kTopK, {&segment, 1}, workspace);
      }
      case Kind::kAmax: {
        const BlockAmaxSegment segment = amax[0].At(base);
        return device.BlockAmax(stream, kAmax, {&segment, 1});
      }
      case Kind::kSort: {
        const SortBlocksSegment segment = sort[0].At(base);
        return device.SortCandidateBlocks(stream, kSort, {&segment, 1});
      }
    }
    return absl::InternalError("unknown kind");
  }
};

std::vector<int32_t> RandomLengths(testing::Random& random, int32_t limit) {
  std::vector<int32_t> lengths(random.Between(1, 4));
  for (int32_t& length : lengths) length = static_cast<int32_t>(random.Below(limit));
  return lengths;
}

Variant MakeVariant(int index, testing::Random& random) {
  Variant variant;
  variant.kind = static_cast<Variant::Kind>(index % 3);
  if (variant.kind == Variant::Kind::kTopK) {
    // Some long enough to be shared by several blocks.
    const int32_t limit = index % 6 == 0 ? 60000 : 5000;
    variant.topk.emplace_back(kTopK, contract::NormalRequest(RandomLengths(random, limit), random),
                              variant.before);
  } else if (variant.kind == Variant::Kind::kAmax) {
    contract::BlockAmaxRequest request;
    for (const int32_t length : RandomLengths(random, 9000)) {
      request.windows.push_back(MakeScores(testing::Pattern::kNormal, length, random));
    }
    variant.amax.emplace_back(kAmax, request, variant.before);
  } else {
    contract::SortBlocksRequest request;
    request.lengths = RandomLengths(random, 90000);
    for (const int32_t length : request.lengths) {
      std::vector<int32_t> ids(kSort.width, -1);
      const int32_t blocks = (length + 7) / 8;
      for (int32_t& id : ids) {
        if (blocks > 0) id = static_cast<int32_t>(random.Below(blocks));
      }
      request.blocks.push_back(std::move(ids));
    }
    variant.sort.emplace_back(kSort, request, variant.before);
  }
  return variant;
}

class TwoStreamsTest : public GpuTest {
 protected:
  // Enqueues kLaunches launches on a stream of its own, then waits once and compares.
  void RunOneStream(const std::vector<Variant>& variants, int first, int64_t image_bytes) {
    auto stream = device().CreateStream(StreamPriority::kNormal);
    auto memory = device().Allocate(MemoryKind::kDevice, image_bytes * kLaunches);
    constexpr int64_t kWorkspaceBytes = 16 << 20;
    auto workspace = device().Allocate(MemoryKind::kDevice, kWorkspaceBytes);
    ASSERT_OK(stream);
    ASSERT_OK(memory);
    ASSERT_OK(workspace);
    const auto base = [&](int launch) { return (*memory)->data() + launch * image_bytes; };
    const auto variant = [&](int launch) -> const Variant& {
      return variants[(first + launch) % kVariants];
    };
    for (int launch = 0; launch < kLaunches; ++launch) {
      const MemoryImage& image = variant(launch).before;
      ASSERT_OK(device().Copy(**stream, base(launch), image.data(), image.size()));
    }
    ASSERT_OK((*stream)->Synchronize());
    for (int launch = 0; launch < kLaunches; ++launch) {
      ASSERT_OK(variant(launch).Launch(device(), **stream, base(launch),
                                       absl::MakeSpan((*workspace)->data(), kWorkspaceBytes)));
    }
    ASSERT_OK((*stream)->Synchronize());
    for (int launch = 0; launch < kLaunches; ++launch) {
      MemoryImage result = variant(launch).before;
      ASSERT_OK(device().Copy(**stream, result.data(), base(launch), result.size()));
      ASSERT_OK((*stream)->Synchronize());
      ASSERT_EQ(result.FirstDifference(variant(launch).after), -1) << "launch " << launch;
    }
  }
};

TEST_F(TwoStreamsTest, AThousandLaunchesOnEachGiveTheReferencesBits) {
  std::vector<Variant> variants;
  int64_t image_bytes = 0;
  for (int i = 0; i < kVariants; ++i) {
    variants.push_back(MakeVariant(i, random()));
    ASSERT_OK(variants.back().Reference());
    image_bytes = std::max(image_bytes, (variants.back().before.size() + 255) / 256 * 256);
  }
  std::thread other([&] { RunOneStream(variants, 7, image_bytes); });
  RunOneStream(variants, 0, image_bytes);
  other.join();
}

}  // namespace
}  // namespace winnow::gpu
