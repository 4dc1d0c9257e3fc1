// BlockAmax and SortCandidateBlocks; PublishCandidates is in publish_check.cc.

#include "tests/contract/block_check.h"

#include <cmath>

#include "kernels/cpu/row_rules.h"
#include "tests/contract/report_check.h"
#include "tests/contract/topk_check.h"
#include "winnow/kernels/reference.h"

namespace winnow::contract {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

// Compares keys that the reference wrote as numbers, then makes them equal.
AssertionResult CheckKeys(const BlockAmaxParams& params, const BlockAmaxSegment& host,
                          const BlockAmaxSegment& expected, const BlockAmaxSegment& actual) {
  for (int32_t row = 0; row < host.rows; ++row) {
    const auto window = cpu::FindWindow(params, host, row);
    const int32_t blocks = cpu::BlockCount(window.length, params.block_size);
    if (blocks <= params.skip_at_most) continue;
    for (int64_t i = row * host.keys_row_stride; i < row * host.keys_row_stride + blocks; ++i) {
      if (OrderedKey(expected.keys[i]) != OrderedKey(actual.keys[i])) {
        return AssertionFailure() << "row " << row << " block " << i - row * host.keys_row_stride
                                  << " of " << blocks << " has key " << actual.keys[i]
                                  << " instead of " << expected.keys[i];
      }
      if (actual.keys[i] == 0 && std::signbit(actual.keys[i])) {
        return AssertionFailure() << "row " << row << " block " << i - row * host.keys_row_stride
                                  << " has key -0 instead of +0";
      }
      expected.keys[i] = actual.keys[i] = 0;
    }
  }
  return AssertionSuccess();
}

std::vector<FaultRecord> PossibleFaults(const BlockAmaxParams& params,
                                        const BlockAmaxSegment& host) {
  std::vector<FaultRecord> faults;
  for (int32_t row = 0; row < host.rows; ++row) {
    faults.push_back(cpu::FindWindow(params, host, row).fault);
  }
  return faults;
}

void AppendRowFaults(const SortBlocksParams& params, const SortBlocksSegment& host, int32_t row,
                     std::vector<FaultRecord>* faults) {
  const auto window = cpu::FindWindow(params, host, row);
  if (window.fault.kind != 0) {
    faults->push_back(window.fault);
    return;
  }
  const int32_t blocks = cpu::BlockCount(window.length, params.block_size);
  for (int32_t i = 0; blocks > params.width && i < params.width; ++i) {
    const int32_t id = host.blocks[row * host.blocks_row_stride + i];
    if (id >= -1 && id < blocks) continue;
    faults->push_back({static_cast<int32_t>(FaultKind::kBlockIdOutOfRange), row, i, id, blocks});
  }
  if (window.pages != nullptr) {
    const int32_t size = host.pages.page_size;
    AppendPageFaults(host.pages, size / params.block_size, window.pages,
                     (window.length + size - 1) / size, row, faults);
  }
}

}  // namespace

AssertionResult CheckBlockAmaxRun(const BlockAmaxParams& params,
                                  const std::vector<BlockAmaxLayout>& layouts, MemoryImage& before,
                                  MemoryImage& after) {
  MemoryImage expected = before;
  for (const BlockAmaxLayout& layout : layouts) {
    const BlockAmaxSegment answer = layout.At(expected.data());
    const BlockAmaxSegment actual = layout.At(after.data());
    const BlockAmaxSegment host = layout.At(before.data());
    if (!reference::BlockAmax(params, answer).ok()) return AssertionFailure() << "bad request";
    if (auto report = CheckReport(*answer.report, *actual.report, PossibleFaults(params, host));
        !report) {
      return report;
    }
    if (auto keys = CheckKeys(params, host, answer, actual); !keys) return keys;
    expected.Blank(layout.report, sizeof(SegmentReport));
    after.Blank(layout.report, sizeof(SegmentReport));
  }
  return CheckUntouched(expected, after);
}

AssertionResult CheckSortBlocksRun(const SortBlocksParams& params,
                                   const std::vector<SortBlocksLayout>& layouts,
                                   MemoryImage& before, MemoryImage& after) {
  MemoryImage expected = before;
  for (size_t i = 0; i < layouts.size(); ++i) {
    const SortBlocksLayout& layout = layouts[i];
    const SortBlocksSegment host = layout.At(before.data());
    std::vector<FaultRecord> possible;
    for (int32_t row = 0; row < host.rows; ++row) AppendRowFaults(params, host, row, &possible);
    const SortBlocksSegment answer = layout.At(expected.data());
    if (!reference::SortCandidateBlocks(params, answer).ok()) {
      return AssertionFailure() << "bad request";
    }
    const SortBlocksSegment actual = layout.At(after.data());
    if (auto report = CheckReport(*answer.report, *actual.report, possible); !report) {
      return report << " in segment " << i;
    }
    for (int32_t row = 0; row < host.rows; ++row) {
      for (int32_t entry = 0; entry < params.width; ++entry) {
        const int64_t place = row * host.out_blocks_row_stride + entry;
        if (actual.out_blocks[place] == answer.out_blocks[place]) continue;
        return AssertionFailure() << "segment " << i << " row " << row << " entry " << entry
                                  << " is block " << actual.out_blocks[place] << " instead of "
                                  << answer.out_blocks[place];
      }
    }
    expected.Blank(layout.report, sizeof(SegmentReport));
    after.Blank(layout.report, sizeof(SegmentReport));
  }
  // Block slots and candidate lengths are among what must be equal here.
  return CheckUntouched(expected, after);
}

}  // namespace winnow::contract
