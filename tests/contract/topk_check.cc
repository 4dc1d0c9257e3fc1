#include "tests/contract/topk_check.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/row_rules.h"
#include "tests/contract/report_check.h"
#include "winnow/kernels/reference.h"

namespace winnow::contract {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

// The reference's answer to one segment.
struct Oracle {
  std::vector<int32_t> indices;
  std::vector<int32_t> slots;
  SegmentReport report;
  std::vector<FaultRecord> faults;  // those that a device may claim
};

Oracle AskReference(const TopKParams& params, const TopKLayout& layout, MemoryImage& before) {
  Oracle oracle;
  TopKSegment segment = layout.At(before.data());
  oracle.indices.resize(int64_t{segment.rows} * params.k);
  if (segment.indices == nullptr) segment.index_offsets = nullptr;
  segment.indices = oracle.indices.data();
  segment.indices_row_stride = params.k;
  if (segment.slots != nullptr) {
    oracle.slots.resize(oracle.indices.size());
    segment.slots = oracle.slots.data();
    segment.slots_row_stride = params.k;
  }
  segment.values = nullptr;
  segment.report = &oracle.report;
  if (!reference::TopK(params, segment).ok()) oracle.report.fault.kind = -1;
  if (oracle.report.fault.kind == 0) return oracle;
  for (int32_t row = 0; row < segment.rows; ++row) {
    const cpu::RowWindow window = cpu::FindWindow(params, segment, row);
    if (window.fault.kind != 0) {
      oracle.faults.push_back(window.fault);
    } else if (window.pages != nullptr) {
      const int32_t size = segment.pages.page_size;
      AppendPageFaults(segment.pages, size, window.pages, (window.length + size - 1) / size, row,
                       &oracle.faults);
    }
  }
  return oracle;
}

// One row of the device's outputs beside the reference's.
class RowCheck {
 public:
  RowCheck(const TopKParams& params, const TopKSegment& host, const TopKSegment& result,
           const int32_t* expected_indices, int32_t row)
      : params_(params),
        host_(host),
        result_(result),
        row_(row),
        window_(cpu::FindWindow(params, host, row)),
        count_(std::min(params.k, window_.length)),
        expected_(expected_indices, expected_indices + count_),
        scores_(
            static_cast<const char*>(cpu::RowAt(host.scores, params.dtype, host.row_stride, row)) +
            window_.start * SizeOf(params.dtype)) {
    for (int32_t& index : expected_) {
      index -= host.indices == nullptr ? 0 : window_.offset;
    }
  }

  AssertionResult Check() {
    if (auto read = ReadPositions(); !read) return read;
    if (auto padded = CheckPadding(); !padded) return padded;
    if (positions_.has_value()) {
      if (auto set = CheckSelection(); !set) return set;
      return CheckAgreement();
    }
    return CheckValuesAlone();
  }

 private:
  AssertionResult Wrong(const std::string& what) const {
    return AssertionFailure() << "row " << row_ << " of length " << window_.length << ": " << what;
  }
  float Score(int32_t position) const { return cpu::LoadScore(params_.dtype, scores_, position); }
  int32_t Key(int32_t position) const { return OrderedKey(Score(position)); }
  const int32_t* Indices() const {
    return result_.indices == nullptr ? nullptr
                                      : result_.indices + row_ * result_.indices_row_stride;
  }
  const int32_t* Slots() const {
    return result_.slots == nullptr ? nullptr : result_.slots + row_ * result_.slots_row_stride;
  }
  const char* Value(int32_t i) const {
    return static_cast<const char*>(result_.values) +
           (row_ * result_.values_row_stride + i) * SizeOf(params_.dtype);
  }

  // From indices, else from slots through the inverse of the page table, else not known.
  AssertionResult ReadPositions() {
    if (Indices() != nullptr) {
      positions_.emplace();
      for (int32_t i = 0; i < count_; ++i) positions_->push_back(Indices()[i] - window_.offset);
    } else if (Slots() != nullptr) {
      const int32_t size = host_.pages.page_size;
      std::unordered_map<int32_t, int32_t> column_of;
      for (int32_t column = 0; int64_t{column} * size < window_.length; ++column) {
        column_of[window_.pages[column]] = column;
      }
      positions_.emplace();
      for (int32_t i = 0; i < count_; ++i) {
        const auto found = column_of.find(Slots()[i] / size);
        if (Slots()[i] < 0 || found == column_of.end()) {
          return Wrong(absl::StrCat("slot ", i, " is ", Slots()[i], ", on no page of the row"));
        }
        positions_->push_back(found->second * size + Slots()[i] % size);
      }
    }
    return AssertionSuccess();
  }

  AssertionResult CheckPadding() const {
    for (int32_t i = count_; i < params_.k; ++i) {
      const bool right = (Indices() == nullptr || Indices()[i] == kPaddingIndex) &&
                         (Slots() == nullptr || Slots()[i] == kPaddingIndex) &&
                         (result_.values == nullptr || cpu::LoadScore(params_.dtype, Value(i), 0) ==
                                                           -std::numeric_limits<float>::infinity());
      if (!right) return Wrong(absl::StrCat("entry ", i, " is not padding"));
    }
    return AssertionSuccess();
  }

  AssertionResult CheckSelection() const {
    std::vector<int32_t> sorted = *positions_;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return Wrong("a position is listed twice");
    }
    if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= window_.length)) {
      return Wrong(absl::StrCat("positions reach from ", sorted.front(), " to ", sorted.back()));
    }
    const bool is_identity = window_.length <= params_.k && params_.order != Order::kScore;
    if (params_.deterministic || is_identity) {
      if (*positions_ != expected_) {
        const auto [mine, theirs] =
            std::mismatch(positions_->begin(), positions_->end(), expected_.begin());
        return Wrong(absl::StrCat("entry ", mine - positions_->begin(), " is position ", *mine,
                                  " (", Score(*mine), ") instead of ", *theirs, " (",
                                  Score(*theirs), ")"));
      }
      return AssertionSuccess();
    }
    if (auto values = CompareKeys(*positions_, expected_); !values) return values;
    return CheckOrder();
  }

  AssertionResult CompareKeys(const std::vector<int32_t>& actual,
                              const std::vector<int32_t>& expected) const {
    std::vector<int32_t> keys, expected_keys;
    for (const int32_t position : actual) keys.push_back(Key(position));
    for (const int32_t position : expected) expected_keys.push_back(Key(position));
    std::sort(keys.begin(), keys.end());
    std::sort(expected_keys.begin(), expected_keys.end());
    return keys == expected_keys ? AssertionSuccess()
                                 : Wrong("the selected scores are not the largest");
  }

  AssertionResult CheckOrder() const {
    if (params_.order == Order::kPosition &&
        !std::is_sorted(positions_->begin(), positions_->end())) {
      return Wrong("positions do not ascend");
    }
    if (params_.order == Order::kScore &&
        !std::is_sorted(positions_->begin(), positions_->end(), [&](int32_t a, int32_t b) {
          return Key(a) > Key(b) || (Key(a) == Key(b) && a < b);
        })) {
      return Wrong("scores do not descend, or equal ones not by ascending position");
    }
    return AssertionSuccess();
  }

  // Slots and values are those of the positions.
  AssertionResult CheckAgreement() const {
    const cpu::SlotMapper mapper(host_.pages, host_.pages.page_size);
    const int64_t element = SizeOf(params_.dtype);
    for (int32_t i = 0; i < count_; ++i) {
      const int32_t position = (*positions_)[i];
      FaultRecord ignored;
      if (Slots() != nullptr && Slots()[i] != mapper.Map(window_.pages, position, &ignored)) {
        return Wrong(
            absl::StrCat("slot ", i, " is ", Slots()[i], ", not that of position ", position));
      }
      if (result_.values != nullptr &&
          std::memcmp(Value(i), scores_ + position * element, element) != 0) {
        return Wrong(absl::StrCat("value ", i, " is not the score at ", position));
      }
    }
    return AssertionSuccess();
  }

  AssertionResult CheckValuesAlone() const {
    std::vector<int32_t> keys, expected_keys;
    for (int32_t i = 0; i < count_; ++i) {
      keys.push_back(OrderedKey(cpu::LoadScore(params_.dtype, Value(i), 0)));
      expected_keys.push_back(Key(expected_[i]));
    }
    if (!params_.deterministic && params_.order != Order::kScore) {
      std::sort(keys.begin(), keys.end());
      std::sort(expected_keys.begin(), expected_keys.end());
    }
    return keys == expected_keys ? AssertionSuccess() : Wrong("the values are not the largest");
  }

  const TopKParams& params_;
  const TopKSegment& host_;
  const TopKSegment& result_;
  const int32_t row_;
  const cpu::RowWindow window_;
  const int32_t count_;
  std::vector<int32_t> expected_;  // positions
  const char* scores_;
  std::optional<std::vector<int32_t>> positions_;
};

}  // namespace

int32_t OrderedKey(float score) {
  if (score != score) return std::numeric_limits<int32_t>::min();
  if (score == 0) return 0;
  int32_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  return bits >= 0 ? bits : static_cast<int32_t>(0x80000000u - static_cast<uint32_t>(bits));
}

AssertionResult CheckTopKRow(const TopKParams& params, const TopKSegment& host,
                             const TopKSegment& result, const int32_t* expected_indices,
                             int32_t row) {
  return RowCheck(params, host, result, expected_indices, row).Check();
}

AssertionResult CheckTopK(const TopKParams& params, const std::vector<TopKLayout>& layouts,
                          MemoryImage& before, MemoryImage& after) {
  for (size_t i = 0; i < layouts.size(); ++i) {
    const TopKLayout& layout = layouts[i];
    const Oracle oracle = AskReference(params, layout, before);
    const TopKSegment host = layout.At(before.data());
    const TopKSegment result = layout.At(after.data());
    if (auto report = CheckReport(oracle.report, *result.report, oracle.faults); !report) {
      return report << " in segment " << i;
    }
    for (int32_t row = 0; row < layout.rows; ++row) {
      const int32_t* expected = oracle.indices.data() + int64_t{row} * params.k;
      if (auto right = CheckTopKRow(params, host, result, expected, row); !right) {
        return right << " in segment " << i;
      }
    }
  }
  for (const TopKLayout& layout : layouts) {
    for (const PlacedOutput* output : {&layout.indices, &layout.slots, &layout.values}) {
      output->Blank(before);
      output->Blank(after);
    }
    before.Blank(layout.report, sizeof(SegmentReport));
    after.Blank(layout.report, sizeof(SegmentReport));
  }
  return CheckUntouched(before, after);
}

}  // namespace winnow::contract
