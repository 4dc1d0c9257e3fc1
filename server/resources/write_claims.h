// Which parts of a buffer requests in flight write. Work of one lease runs in no order that its
// client could know, so two requests that write the same bytes would leave a mixture: the second is
// refused instead.

#ifndef WINNOW_SERVER_RESOURCES_WRITE_CLAIMS_H_
#define WINNOW_SERVER_RESOURCES_WRITE_CLAIMS_H_

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/backend/strided_region.h"

namespace winnow::server {

// Thread safety: safe to call from several threads.
class WriteClaims {
 public:
  // False when the region shares bytes with one that another owner has claimed. An owner does not
  // stand in its own way: CheckItem looks at the outputs of one request.
  bool Claim(const void* owner, const StridedRegion& region);
  // Gives up all that the owner claimed.
  void Release(const void* owner);

 private:
  absl::Mutex mu_;
  std::vector<std::pair<const void*, StridedRegion>> claims_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_WRITE_CLAIMS_H_
