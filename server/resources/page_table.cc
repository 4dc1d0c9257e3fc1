#include "server/resources/page_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/resources/page_table_update.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int64_t kBusyRetryMillis = 1;
// A longer log costs more to replay than the table costs to copy.
constexpr size_t kMaxLoggedUpdates = 256;

}  // namespace

PageTable::PageTable(Backend* backend, const PageTableShape& shape)
    : backend_(backend), shape_(shape) {}

absl::StatusOr<int64_t> PageTable::BytesFor(const PageTableShape& shape) {
  WINNOW_RETURN_IF_ERROR(CheckPageTableShape(shape));
  return shape.rows * shape.columns * static_cast<int64_t>(sizeof(int32_t)) * kImages;
}

absl::StatusOr<std::shared_ptr<PageTable>> PageTable::Create(Backend* backend,
                                                             const PageTableShape& shape,
                                                             absl::Span<const int32_t> initial) {
  WINNOW_ASSIGN_OR_RETURN(const int64_t bytes, BytesFor(shape));
  if (!initial.empty() && static_cast<int64_t>(initial.size()) != shape.rows * shape.columns) {
    return InvalidField(
        ErrorReason::kShapeMismatch, "initial", static_cast<int64_t>(initial.size()),
        absl::StrCat(CountText(shape.rows * shape.columns, "id"), ", one for each entry"));
  }
  std::shared_ptr<PageTable> table(new PageTable(backend, shape));
  absl::MutexLock lock(&table->mu_);
  table->host_.assign(shape.rows * shape.columns, -1);
  table->filled_.assign(shape.rows, 0);
  for (size_t entry = 0; entry < initial.size(); ++entry) {
    const int64_t row = static_cast<int64_t>(entry) / shape.columns;
    WINNOW_RETURN_IF_ERROR(CheckStoredPageId(shape, "initial", row, initial[entry]));
    table->host_[entry] = initial[entry];
    if (initial[entry] >= 0) table->filled_[row] = static_cast<int64_t>(entry) % shape.columns + 1;
  }
  for (int image = 0; image < kImages; ++image) {
    WINNOW_ASSIGN_OR_RETURN(auto memory, backend->AllocateBuffer(bytes / kImages));
    table->images_.push_back(std::make_unique<Image>());
    table->images_.back()->memory = std::move(memory);
  }
  table->current_ = table->images_.front().get();
  WINNOW_RETURN_IF_ERROR(table->BringUpToDate(*table->current_));
  return table;
}

int64_t PageTable::size_bytes() const {
  return shape_.rows * shape_.columns * static_cast<int64_t>(sizeof(int32_t)) * kImages;
}

int64_t PageTable::version() const {
  absl::MutexLock lock(&mu_);
  return version_;
}

std::shared_ptr<const PageTableImage> PageTable::Current() const {
  // The count of readers is the one thing that a reader changes.
  auto self = std::const_pointer_cast<PageTable>(shared_from_this());
  absl::MutexLock lock(&mu_);
  Image* const image = current_;
  ++image->readers;
  return std::shared_ptr<const PageTableImage>(
      image, [self = std::move(self), image](const PageTableImage*) { self->Unread(image); });
}

void PageTable::Unread(const Image* image) {
  absl::MutexLock lock(&mu_);
  --const_cast<Image*>(image)->readers;
}

absl::StatusOr<int64_t> PageTable::Update(const PageTableUpdate& update) {
  absl::MutexLock lock(&mu_);
  WINNOW_RETURN_IF_ERROR(CheckPageTableUpdate(shape_, version_, filled_, update));
  WINNOW_ASSIGN_OR_RETURN(Image * image, FreeImage());
  std::vector<Undo> undo;
  log_.push_back({.version = version_ + 1, .changes = ApplyToHost(update, undo)});
  ++version_;
  if (absl::Status copied = BringUpToDate(*image); !copied.ok()) {
    // The device refused; nobody has seen the new version, so it never was. The image holds part of
    // it and is rewritten whole when its turn comes.
    for (auto entry = undo.rbegin(); entry != undo.rend(); ++entry) {
      std::copy(entry->ids.begin(), entry->ids.end(),
                host_.begin() + entry->change.row * shape_.columns + entry->change.begin);
      filled_[entry->change.row] = entry->filled;
    }
    log_.pop_back();
    --version_;
    image->version = 0;
    return copied;
  }
  current_ = image;
  TrimLog();
  return version_;
}

std::vector<PageTable::Change> PageTable::ApplyToHost(const PageTableUpdate& update,
                                                      std::vector<Undo>& undo) {
  std::vector<Change> changes;
  // Remembers the entries about to change and returns where they start.
  const auto begin_change = [&](const Change& change) {
    const auto first = host_.begin() + change.row * shape_.columns + change.begin;
    undo.push_back({.change = change,
                    .ids = std::vector<int32_t>(first, first + (change.end - change.begin)),
                    .filled = filled_[change.row]});
    changes.push_back(change);
    return first;
  };
  for (const int64_t row : update.clear_rows) {
    std::fill_n(begin_change({.row = row, .begin = 0, .end = shape_.columns}), shape_.columns, -1);
    filled_[row] = 0;
  }
  const auto apply = [&](const PageTableEdit& edit, int64_t column) {
    const int64_t end = column + static_cast<int64_t>(edit.page_ids.size());
    std::copy(edit.page_ids.begin(), edit.page_ids.end(),
              begin_change({.row = edit.row, .begin = column, .end = end}));
    filled_[edit.row] = std::max(filled_[edit.row], end);
  };
  for (const PageTableEdit& edit : update.ranges) apply(edit, edit.column);
  for (const PageTableEdit& edit : update.appends) apply(edit, filled_[edit.row]);
  return changes;
}

absl::StatusOr<PageTable::Image*> PageTable::FreeImage() {
  Image* best = nullptr;
  for (const auto& image : images_) {
    if (image.get() == current_ || image->readers > 0) continue;
    if (best == nullptr || image->version > best->version) best = image.get();
  }
  if (best != nullptr) return best;
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat("running requests hold ", kImages - 1,
                                " earlier versions of the table, its most; try again"),
                   {.reason = ErrorReason::kResourceBusy,
                    .field = "page_table",
                    .limit = absl::StrCat(kImages - 1),
                    .retry_after_millis = kBusyRetryMillis});
}

absl::Status PageTable::BringUpToDate(Image& image) {
  const bool in_log =
      image.version > 0 &&
      (image.version == version_ || (!log_.empty() && log_.front().version <= image.version + 1));
  if (!in_log) {
    WINNOW_RETURN_IF_ERROR(backend_->CopyToDevice(
        image.memory->data(), reinterpret_cast<const std::byte*>(host_.data()),
        static_cast<int64_t>(host_.size() * sizeof(int32_t))));
  } else {
    for (const LoggedUpdate& logged : log_) {
      if (logged.version <= image.version) continue;
      for (const Change& change : logged.changes) WINNOW_RETURN_IF_ERROR(CopyRange(image, change));
    }
  }
  image.version = version_;
  return absl::OkStatus();
}

absl::Status PageTable::CopyRange(Image& image, const Change& change) {
  const int64_t first = change.row * shape_.columns + change.begin;
  return backend_->CopyToDevice(
      image.memory->data() + first * static_cast<int64_t>(sizeof(int32_t)),
      reinterpret_cast<const std::byte*>(host_.data() + first),
      (change.end - change.begin) * static_cast<int64_t>(sizeof(int32_t)));
}

void PageTable::TrimLog() {
  int64_t oldest = version_;
  for (const auto& image : images_) {
    if (image->version > 0) oldest = std::min(oldest, image->version);
  }
  size_t drop = 0;
  while (drop < log_.size() && log_[drop].version <= oldest) ++drop;
  if (log_.size() - drop > kMaxLoggedUpdates) drop = log_.size() - kMaxLoggedUpdates;
  log_.erase(log_.begin(), log_.begin() + static_cast<int64_t>(drop));
}

PageTableShape PageTable::ForkedShape(absl::Span<const int64_t> source_rows) const {
  PageTableShape shape = shape_;
  if (!source_rows.empty()) shape.rows = static_cast<int64_t>(source_rows.size());
  return shape;
}

absl::StatusOr<std::shared_ptr<PageTable>> PageTable::Fork(
    absl::Span<const int64_t> source_rows) const {
  const PageTableShape shape = ForkedShape(source_rows);
  WINNOW_RETURN_IF_ERROR(BytesFor(shape).status());
  std::vector<int32_t> ids;
  std::vector<int64_t> filled;
  {
    absl::MutexLock lock(&mu_);
    for (int64_t row = 0; row < shape.rows; ++row) {
      const int64_t source = source_rows.empty() ? row : source_rows[row];
      WINNOW_RETURN_IF_ERROR(
          CheckTableRow(absl::StrCat("source_rows[", row, "]"), source, shape_.rows));
      const auto begin = host_.begin() + source * shape_.columns;
      ids.insert(ids.end(), begin, begin + shape_.columns);
      filled.push_back(filled_[source]);
    }
  }
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<PageTable> fork, Create(backend_, shape, ids));
  absl::MutexLock lock(&fork->mu_);
  fork->filled_ = std::move(filled);
  return fork;
}

}  // namespace winnow::server
