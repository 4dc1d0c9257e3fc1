#include "server/resources/write_claims.h"

namespace winnow::server {

bool WriteClaims::Claim(const void* owner, const StridedRegion& region) {
  absl::MutexLock lock(&mu_);
  for (const auto& [other, claimed] : claims_) {
    if (other != owner && Overlap(claimed, region)) return false;
  }
  claims_.emplace_back(owner, region);
  return true;
}

void WriteClaims::Release(const void* owner) {
  absl::MutexLock lock(&mu_);
  std::erase_if(claims_, [owner](const auto& claim) { return claim.first == owner; });
}

}  // namespace winnow::server
