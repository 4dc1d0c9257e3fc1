#include <algorithm>
#include <cstring>

#include "kernels/cpu/row_rules.h"
#include "tests/contract/block_check.h"
#include "tests/contract/report_check.h"
#include "tests/contract/topk_check.h"
#include "winnow/kernels/reference.h"

namespace winnow::contract {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

std::vector<FaultRecord> PossibleFaults(const PublishParams& params, const PublishSegment& host) {
  std::vector<FaultRecord> faults;
  for (int32_t row = 0; row < host.rows; ++row) {
    const auto window = cpu::FindWindow(host, row);
    if (window.fault.kind != 0) faults.push_back(window.fault);
    if (window.pages == nullptr) continue;
    const int32_t size = host.pages.page_size;
    const int64_t columns = (int64_t{window.length} + size - 1) / size;
    if (host.slots != nullptr) {
      AppendPageFaults(host.pages, size, window.pages, columns, row, &faults);
    }
    if (host.block_slots != nullptr) {
      AppendPageFaults(host.pages, size / params.block_size, window.pages, columns, row, &faults);
    }
  }
  return faults;
}

// The token part of a publish as a TopK of the same scores.
TopKSegment TokenPart(const PublishSegment& publish) {
  TopKSegment segment;
  segment.scores = publish.scores;
  segment.row_stride = publish.row_stride;
  segment.rows = publish.rows;
  segment.columns = publish.columns;
  segment.lengths = publish.lengths;
  segment.pages = publish.pages;
  segment.indices = publish.indices;
  segment.slots = publish.slots;
  segment.indices_row_stride = publish.indices_row_stride;
  segment.slots_row_stride = publish.slots_row_stride;
  return segment;
}

// Keys of the row's blocks.
std::vector<float> RowKeys(const PublishParams& params, const PublishSegment& host, int32_t row,
                           int32_t length) {
  std::vector<float> keys(cpu::BlockCount(length, params.block_size));
  SegmentReport report;
  BlockAmaxSegment segment;
  segment.scores = cpu::RowAt(host.scores, params.dtype, host.row_stride, row);
  segment.row_stride = segment.columns = host.columns;
  segment.rows = 1;
  segment.lengths = &length;
  segment.keys = keys.data();
  segment.keys_row_stride = segment.keys_columns = static_cast<int32_t>(keys.size());
  segment.report = &report;
  const BlockAmaxParams amax{.dtype = params.dtype, .block_size = params.block_size};
  return reference::BlockAmax(amax, segment).ok() ? keys : std::vector<float>();
}

// Blocks with free ties: distinct, ascending, with the largest keys; block slots that agree.
AssertionResult CheckBlocks(const PublishParams& params, const PublishSegment& host,
                            const PublishSegment& expected, const PublishSegment& actual,
                            int32_t row, const cpu::RowWindow& window) {
  const std::vector<float> keys = RowKeys(params, host, row, window.length);
  const int32_t kept = std::min<int32_t>(params.k_blocks, static_cast<int32_t>(keys.size()));
  const int32_t* want = expected.blocks + row * host.blocks_row_stride;
  const int32_t* got = actual.blocks + row * host.blocks_row_stride;
  std::vector<int32_t> want_keys, got_keys;
  for (int32_t i = 0; i < kept; ++i) {
    if (got[i] < 0 || got[i] >= static_cast<int32_t>(keys.size()) || (i && got[i] <= got[i - 1])) {
      return AssertionFailure() << "row " << row << " entry " << i << " is block " << got[i];
    }
    want_keys.push_back(OrderedKey(keys[want[i]]));
    got_keys.push_back(OrderedKey(keys[got[i]]));
  }
  std::sort(want_keys.begin(), want_keys.end());
  std::sort(got_keys.begin(), got_keys.end());
  if (want_keys != got_keys) {
    return AssertionFailure() << "row " << row << ": the kept blocks have not the largest keys";
  }
  const cpu::SlotMapper mapper(host.pages, host.pages.page_size / params.block_size);
  for (int32_t i = 0; i < params.k_blocks; ++i) {
    if (i >= kept && got[i] != kPaddingBlock) {
      return AssertionFailure() << "row " << row << " entry " << i << " is not padding";
    }
    if (host.block_slots == nullptr) continue;
    FaultRecord ignored;
    int32_t slot = i < kept ? mapper.Map(window.pages, got[i], &ignored) : -1;
    if (slot < 0) slot = kPaddingBlock;
    if (actual.block_slots[row * host.block_slots_row_stride + i] != slot) {
      return AssertionFailure() << "row " << row << ": block slot " << i << " is not " << slot;
    }
  }
  return AssertionSuccess();
}

void CopyRow(const PlacedOutput& output, int32_t row, MemoryImage& from, MemoryImage& to) {
  if (output.offset < 0) return;
  const int64_t place = output.offset + row * output.row_stride * 4;
  std::memcpy(to.data() + place, from.data() + place, output.columns * 4);
}

// Judges the rows whose ties are free, and then takes their selections as the expected ones.
AssertionResult AcceptFreeTies(const PublishParams& params, const PublishLayout& layout,
                               MemoryImage& before, MemoryImage& expected, MemoryImage& after) {
  const PublishSegment host = layout.At(before.data());
  const PublishSegment answer = layout.At(expected.data());
  const PublishSegment actual = layout.At(after.data());
  const TopKParams select{.dtype = params.dtype, .k = params.k, .order = params.order};
  std::vector<int32_t> token_indices(int64_t{host.rows} * params.k);
  SegmentReport ignored;
  TopKSegment oracle = TokenPart(host);
  oracle.indices = token_indices.data();
  oracle.indices_row_stride = params.k;
  oracle.slots = nullptr;
  oracle.report = &ignored;
  if (!reference::TopK(select, oracle).ok()) return AssertionFailure() << "bad request";
  for (int32_t row = 0; row < host.rows; ++row) {
    const auto window = cpu::FindWindow(host, row);
    if (window.length == 0) continue;
    if (host.indices != nullptr || host.slots != nullptr) {
      auto tokens = CheckTopKRow(select, TokenPart(host), TokenPart(actual),
                                 token_indices.data() + int64_t{row} * params.k, row);
      if (!tokens) return tokens;
      CopyRow(layout.indices, row, after, expected);
      CopyRow(layout.slots, row, after, expected);
    }
    if (host.blocks != nullptr) {
      auto blocks = CheckBlocks(params, host, answer, actual, row, window);
      if (!blocks) return blocks;
      CopyRow(layout.blocks, row, after, expected);
      CopyRow(layout.block_slots, row, after, expected);
    }
  }
  return AssertionSuccess();
}

}  // namespace

AssertionResult CheckPublishRun(const PublishParams& params,
                                const std::vector<PublishLayout>& layouts, MemoryImage& before,
                                MemoryImage& after) {
  MemoryImage expected = before;
  for (size_t i = 0; i < layouts.size(); ++i) {
    const PublishLayout& layout = layouts[i];
    const PublishSegment answer = layout.At(expected.data());
    if (!reference::PublishCandidates(params, answer).ok()) {
      return AssertionFailure() << "bad request";
    }
    const auto possible = PossibleFaults(params, layout.At(before.data()));
    if (auto report = CheckReport(*answer.report, *layout.At(after.data()).report, possible);
        !report) {
      return report << " in segment " << i;
    }
    if (!params.deterministic) {
      if (auto free = AcceptFreeTies(params, layout, before, expected, after); !free) {
        return free << " in segment " << i;
      }
    }
    expected.Blank(layout.report, sizeof(SegmentReport));
    after.Blank(layout.report, sizeof(SegmentReport));
  }
  return CheckUntouched(expected, after);
}

}  // namespace winnow::contract
