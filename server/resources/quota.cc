#include "server/resources/quota.h"

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

QuotaHold& QuotaHold::operator=(QuotaHold&& other) noexcept {
  if (this != &other) {
    Reset();
    quota_ = std::move(other.quota_);
    amount_ = std::exchange(other.amount_, 0);
  }
  return *this;
}

void QuotaHold::Reset() {
  if (quota_ == nullptr) return;
  quota_->Return(amount_);
  quota_ = nullptr;
  amount_ = 0;
}

std::shared_ptr<Quota> Quota::Create(absl::string_view what, int64_t limit) {
  return std::shared_ptr<Quota>(new Quota(what, limit));
}

absl::StatusOr<QuotaHold> Quota::Take(int64_t amount) {
  absl::MutexLock lock(&mu_);
  if (amount > limit_ - used_) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     absl::StrCat("quota of ", what_, " is used up: ", used_, " of ", limit_,
                                  " used, ", amount, " more wanted; release some first"),
                     {.reason = ErrorReason::kQuotaExceeded,
                      .value = absl::StrCat(used_, " + ", amount),
                      .limit = absl::StrCat(limit_, ", the ", what_)});
  }
  used_ += amount;
  return QuotaHold(shared_from_this(), amount);
}

int64_t Quota::used() const {
  absl::MutexLock lock(&mu_);
  return used_;
}

void Quota::Return(int64_t amount) {
  absl::MutexLock lock(&mu_);
  used_ -= amount;
}

}  // namespace winnow::server
