#include "client/cli/deep_probe.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/cli/failure.h"
#include "client/cli/gpu_probe.h"
#include "client/cli/host_probe.h"
#include "client/cli/probe_row.h"
#include "winnow/client/error.h"
#include "winnow/client/lease.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

client::TopKRequest ProbeRequest(client::TensorRef scores, absl::Span<const int32_t> lengths,
                                 client::Output indices) {
  return {.scores = scores,
          .lengths = client::Int32Column(lengths),
          .k = kProbeK,
          .order = Order::kScore,
          .deterministic = true,
          .indices = indices};
}

absl::Status TryInline(const client::Client& client) {
  const ProbeScores scores = MakeProbeScores();
  const int32_t length = kProbeColumns;
  WINNOW_ASSIGN_OR_RETURN(
      const client::TopKResult result,
      client.TopK(ProbeRequest(client::Float32Matrix(scores.data(), 1, kProbeColumns), {&length, 1},
                               client::Placement::kInline)));
  if (result.indices.bytes().size() != sizeof(ProbeAnswer)) {
    return absl::InternalError("the answer has another size than was asked for");
  }
  return CheckProbeAnswer(result.indices.bytes().data());
}

absl::Status TryServerBuffer(const client::Lease& lease) {
  const ProbeScores scores = MakeProbeScores();
  const int32_t length = kProbeColumns;
  WINNOW_ASSIGN_OR_RETURN(const client::Buffer buffer, lease.AllocateBuffer(kProbeBytes));
  WINNOW_RETURN_IF_ERROR(buffer.WriteElements<float>(kProbeScoresAt, absl::MakeConstSpan(scores)));
  WINNOW_RETURN_IF_ERROR(
      lease.client()
          .TopK(ProbeRequest(buffer.AsMatrix(DType::kFloat32, 1, kProbeColumns, kProbeScoresAt),
                             {&length, 1}, buffer.AsOutput(kProbeAnswerAt)))
          .status());
  ProbeAnswer answer;
  WINNOW_RETURN_IF_ERROR(buffer.ReadElements<int32_t>(kProbeAnswerAt, absl::MakeSpan(answer)));
  return CheckProbeAnswer(answer.data());
}

absl::Status TrySharedMemory(const client::Lease& lease) {
  const ProbeScores scores = MakeProbeScores();
  const int32_t length = kProbeColumns;
  WINNOW_ASSIGN_OR_RETURN(const client::SharedBuffer shared, lease.ShareMemory(kProbeBytes));
  std::memcpy(shared.data() + kProbeScoresAt, scores.data(), sizeof(scores));
  WINNOW_RETURN_IF_ERROR(
      lease.client()
          .TopK(ProbeRequest(shared.AsMatrix(DType::kFloat32, 1, kProbeColumns, kProbeScoresAt),
                             {&length, 1}, shared.AsOutput(kProbeAnswerAt)))
          .status());
  return CheckProbeAnswer(shared.data() + kProbeAnswerAt);
}

void ProbeLeases(const Session& session, Findings& findings) {
  const absl::StatusOr<client::Lease> lease = session.client.OpenLease(
      {.display_name = "winnow probe", .device = session.info.device.ordinal});
  if (!lease.ok()) {
    findings.Tried("lease", lease.status(), "", "buffers and shared memory could not be tried");
    return;
  }
  findings.Tried("buffer of the server", TryServerBuffer(*lease), kSelects,
                 "the server's --buffer-pool-bytes and --max-lease-bytes bound it");
  if (!absl::StartsWith(session.target, "unix:")) {
    findings.Say("shared memory", Verdict::kNotTried,
                 "needs a server on a Unix socket of this host; this target is TCP");
    return;
  }
  const absl::Status shared = TrySharedMemory(*lease);
  findings.Tried("shared memory", shared, kSelects,
                 client::HasReason(shared, ErrorReason::kPermissionDenied)
                     ? "the folder must belong to this user or to root, and nobody else may write "
                       "to it: deploy/README.md, 'Shared memory'"
                     : "the folder of the server's socket must be seen by both processes, and its "
                       "descriptor socket, of the same name with .fd, be open to this user");
}

}  // namespace

absl::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kNotOk:
      return "not ok";
    case Verdict::kNotTried:
      return "not tried";
    case Verdict::kNote:
      break;
  }
  return "note";
}

void Findings::Tried(std::string what, const absl::Status& status, absl::string_view good,
                     absl::string_view advice) {
  if (status.ok()) {
    Say(std::move(what), Verdict::kOk, std::string(good));
  } else {
    Say(std::move(what), Verdict::kNotOk, absl::StrCat(OneLine(status.message()), "; ", advice));
  }
}

Findings ProbeDeeply(const Session& session, const TargetOptions& options) {
  Findings findings;
  ProbeHost(session, findings);
  findings.Tried("scores in the request", TryInline(session.client), kSelects,
                 "see the server's log");
  ProbeLeases(session, findings);
  ProbeGpuMemory(session, absl::Seconds(options.timeout_seconds), findings);
  return findings;
}

}  // namespace winnow::cli
