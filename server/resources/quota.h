// Bytes and counts that may be used up to a limit, and who says so when they are not there.

#ifndef WINNOW_SERVER_RESOURCES_QUOTA_H_
#define WINNOW_SERVER_RESOURCES_QUOTA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace winnow::server {

class Quota;

// What was taken from a quota; given back by the destructor, once, wherever that runs. Move only.
class QuotaHold {
 public:
  QuotaHold() = default;
  QuotaHold(QuotaHold&& other) noexcept
      : quota_(std::move(other.quota_)), amount_(std::exchange(other.amount_, 0)) {}
  QuotaHold& operator=(QuotaHold&& other) noexcept;
  ~QuotaHold() { Reset(); }

  int64_t amount() const { return amount_; }
  void Reset();

 private:
  friend class Quota;
  QuotaHold(std::shared_ptr<Quota> quota, int64_t amount)
      : quota_(std::move(quota)), amount_(amount) {}

  // Shared, because a hold in a running request outlives the lease that it counts against.
  std::shared_ptr<Quota> quota_;
  int64_t amount_ = 0;
};

// Thread safety: safe to call from several threads.
class Quota : public std::enable_shared_from_this<Quota> {
 public:
  // `what` names the quota in errors: "bytes of the lease".
  static std::shared_ptr<Quota> Create(absl::string_view what, int64_t limit);

  // ResourceExhausted (QUOTA_EXCEEDED) with used and asked as value, limit and what as limit. It
  // names no field: none is at fault. `amount` is at least 0.
  absl::StatusOr<QuotaHold> Take(int64_t amount);

  int64_t used() const;
  int64_t limit() const { return limit_; }

 private:
  friend class QuotaHold;
  Quota(absl::string_view what, int64_t limit) : what_(what), limit_(limit) {}
  void Return(int64_t amount);

  const std::string what_;
  const int64_t limit_;
  mutable absl::Mutex mu_;
  int64_t used_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_QUOTA_H_
