// Cuts an item of many rows into items of fewer rows that write to the same outputs. Every
// operation works row by row, so the slices' results are the whole's.

#ifndef WINNOW_SERVER_BATCHING_ROW_SLICES_H_
#define WINNOW_SERVER_BATCHING_ROW_SLICES_H_

#include <cstdint>

#include "server/backend/work.h"

namespace winnow::server {

// Rows of the item when it can be cut: all steps have as many, at least two, no step uses a plan
// made for all rows, no other process is told of its end, and no row looks into another row's part
// of an earlier step's output. 0 otherwise.
int64_t SliceableRows(const WorkItem& item);

// Makes room in `whole.results` for what its slices write: an output tensor for each inline output.
// Untouched elements are 0.
void PrepareResults(WorkItem& whole);

// Rows [first_row, first_row + rows) of `whole`, which is sliceable, prepared, and outlives the
// slice. Slices of different rows may run at once.
WorkItem SliceRows(WorkItem& whole, int64_t first_row, int64_t rows);

// Adds a finished slice's counts and times to `whole`, and its error unless an earlier row already
// failed.
void MergeSlice(const WorkItem& slice, WorkItem& whole);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_ROW_SLICES_H_
