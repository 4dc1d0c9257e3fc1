#include "client/src/resource_record.h"

namespace winnow::client {

ResourceKind ResourceRecord::kind() const {
  if (std::holds_alternative<PageTableMirror>(source)) return ResourceKind::kPageTable;
  return std::holds_alternative<PlanSource>(source) ? ResourceKind::kPlan : ResourceKind::kBuffer;
}

int64_t ResourceRecord::size_bytes() const {
  if (const auto* allocated = std::get_if<AllocatedSource>(&source)) return allocated->size_bytes;
  const auto* imported = std::get_if<ImportedSource>(&source);
  return imported == nullptr ? 0 : imported->size_bytes;
}

}  // namespace winnow::client
