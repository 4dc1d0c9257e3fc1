#include "server/resources/descriptor_inbox.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/resources/random_id.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

absl::Status Full(absl::string_view what, int64_t used, int64_t limit) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat(used, " of ", limit, " ", what, " wait; import them first"),
                   {.reason = ErrorReason::kQuotaExceeded,
                    .value = absl::StrCat(used),
                    .limit = absl::StrCat(limit, ", the ", what)});
}

}  // namespace

absl::StatusOr<std::string> DescriptorInbox::Put(absl::string_view lease_id, UniqueFd descriptor) {
  std::string token = RandomHexId();
  absl::MutexLock lock(&mu_);
  DropExpiredLocked();
  const auto total = static_cast<int64_t>(waiting_.size());
  if (total >= options_.max_waiting) {
    return Full("descriptors of the server", total, options_.max_waiting);
  }
  int64_t of_lease = 0;
  for (const auto& [other, waiting] : waiting_) of_lease += waiting.lease_id == lease_id;
  if (of_lease >= options_.max_waiting_per_lease) {
    return Full("descriptors of the lease", of_lease, options_.max_waiting_per_lease);
  }
  waiting_[token] = {.lease_id = std::string(lease_id),
                     .descriptor = std::move(descriptor),
                     .expires = clock_->Now() + options_.lifetime};
  return token;
}

absl::StatusOr<UniqueFd> DescriptorInbox::Take(absl::string_view lease_id,
                                               absl::string_view token) {
  absl::MutexLock lock(&mu_);
  DropExpiredLocked();
  const auto found = waiting_.find(token);
  if (found == waiting_.end()) {
    return MakeError(absl::StatusCode::kNotFound,
                     "import_token names no waiting descriptor; send the descriptor again",
                     {.reason = ErrorReason::kResourceNotFound, .field = "import_token"});
  }
  if (found->second.lease_id != lease_id) {
    return MakeError(absl::StatusCode::kPermissionDenied, "import_token belongs to another lease",
                     {.reason = ErrorReason::kResourceForeign, .field = "import_token"});
  }
  UniqueFd descriptor = std::move(found->second.descriptor);
  waiting_.erase(found);
  return descriptor;
}

void DescriptorInbox::DropExpired() {
  absl::MutexLock lock(&mu_);
  DropExpiredLocked();
}

void DescriptorInbox::DropExpiredLocked() {
  const absl::Time now = clock_->Now();
  absl::erase_if(waiting_, [now](const auto& entry) { return entry.second.expires <= now; });
}

int64_t DescriptorInbox::waiting() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(waiting_.size());
}

}  // namespace winnow::server
