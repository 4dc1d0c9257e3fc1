// Judges what a device reported about a segment, and that it wrote nothing but its outputs.

#ifndef WINNOW_TESTS_CONTRACT_REPORT_CHECK_H_
#define WINNOW_TESTS_CONTRACT_REPORT_CHECK_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "tests/contract/memory_image.h"
#include "winnow/kernels/segments.h"

namespace winnow::contract {

// Success when a device may report `actual`: the same number of negative rows, and no fault where
// the reference finds none, else one of `possible`. Which of several faults is the first to be
// claimed is up to the device.
::testing::AssertionResult CheckReport(const SegmentReport& expected, const SegmentReport& actual,
                                       const std::vector<FaultRecord>& possible);

// Adds the faults that the first `columns` page ids of a row may cause, with pages of `unit`
// positions.
void AppendPageFaults(const PageTransform& pages, int32_t unit, const int32_t* page_row,
                      int64_t columns, int32_t row, std::vector<FaultRecord>* faults);

// Success when `after` differs from `before` nowhere.
::testing::AssertionResult CheckUntouched(const MemoryImage& before, const MemoryImage& after);

}  // namespace winnow::contract

namespace winnow {
bool operator==(const FaultRecord& a, const FaultRecord& b);
void PrintTo(const FaultRecord& fault, std::ostream* out);
}  // namespace winnow

#endif  // WINNOW_TESTS_CONTRACT_REPORT_CHECK_H_
