#include "server/app/plaintext_warning.h"

#include "absl/strings/str_join.h"
#include "server/base/logging.h"

namespace winnow::server {

void PlaintextWarning::WarnIfDue() {
  const absl::Time now = clock_->Now();
  if (addresses_.empty() || now < due_) return;
  due_ = now + kPeriod;
  Log(LogLevel::kWarning, "serving in the clear beyond this host",
      {{"listeners", absl::StrJoin(addresses_, ",")}, {"way_out", "--tls-cert"}});
}

}  // namespace winnow::server
