#include "tests/contract/report_check.h"

#include <algorithm>
#include <ostream>

#include "kernels/cpu/row_rules.h"

namespace winnow {

bool operator==(const FaultRecord& a, const FaultRecord& b) {
  return a.kind == b.kind && a.row == b.row && a.entry == b.entry && a.value == b.value &&
         a.limit == b.limit;
}

void PrintTo(const FaultRecord& fault, std::ostream* out) {
  *out << "fault " << fault.kind << " at row " << fault.row << " entry " << fault.entry << " value "
       << fault.value << " limit " << fault.limit;
}

namespace contract {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

AssertionResult CheckReport(const SegmentReport& expected, const SegmentReport& actual,
                            const std::vector<FaultRecord>& possible) {
  if (actual.negative_rows != expected.negative_rows) {
    return AssertionFailure() << actual.negative_rows << " negative rows reported instead of "
                              << expected.negative_rows;
  }
  const bool known = std::find(possible.begin(), possible.end(), actual.fault) != possible.end();
  if (expected.fault.kind == 0 ? actual.fault.kind == 0 : known) return AssertionSuccess();
  return AssertionFailure() << "reported " << ::testing::PrintToString(actual.fault)
                            << ", the reference " << ::testing::PrintToString(expected.fault);
}

void AppendPageFaults(const PageTransform& pages, int32_t unit, const int32_t* page_row,
                      int64_t columns, int32_t row, std::vector<FaultRecord>* faults) {
  const cpu::SlotMapper mapper(pages, unit);
  for (int64_t column = 0; column < columns; ++column) {
    FaultRecord fault;
    fault.row = row;
    mapper.Map(page_row, static_cast<int32_t>(column * unit), &fault);
    if (fault.kind != 0) faults->push_back(fault);
  }
}

AssertionResult CheckUntouched(const MemoryImage& before, const MemoryImage& after) {
  const int64_t where = before.FirstDifference(after);
  if (where < 0) return AssertionSuccess();
  return AssertionFailure() << "byte " << where
                            << ", which is part of no output, was written or lost";
}

}  // namespace contract
}  // namespace winnow
