// The row that `winnow probe --deep` selects from, and the answer that is known beforehand.

#ifndef WINNOW_CLIENT_CLI_PROBE_ROW_H_
#define WINNOW_CLIENT_CLI_PROBE_ROW_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"

namespace winnow::cli {

inline constexpr int32_t kProbeColumns = 4096;
inline constexpr int32_t kProbeK = 64;

using ProbeScores = std::array<float, kProbeColumns>;
using ProbeAnswer = std::array<int32_t, kProbeK>;

// Where scores and answer lie in a buffer, and its size: one granule of a GPU's virtual memory.
inline constexpr int64_t kProbeScoresAt = 0;
inline constexpr int64_t kProbeAnswerAt = sizeof(ProbeScores);
inline constexpr int64_t kProbeBytes = int64_t{2} << 20;

// The numbers 0 to kProbeColumns - 1, shuffled: an odd factor modulo a power of two. So the
// position of each number is known without a selection.
constexpr int32_t ProbeScoreAt(int32_t position) { return position * 1637 % kProbeColumns; }

inline ProbeScores MakeProbeScores() {
  ProbeScores scores;
  for (int32_t i = 0; i < kProbeColumns; ++i) scores[i] = static_cast<float>(ProbeScoreAt(i));
  return scores;
}

// The positions of the kProbeK largest scores, the largest first.
inline ProbeAnswer MakeProbeAnswer() {
  ProbeAnswer answer{};
  for (int32_t i = 0; i < kProbeColumns; ++i) {
    const int32_t rank = kProbeColumns - 1 - ProbeScoreAt(i);
    if (rank < kProbeK) answer[rank] = i;
  }
  return answer;
}

// Whether that is what `indices`, kProbeK of them, hold.
inline absl::Status CheckProbeAnswer(const void* indices) {
  const ProbeAnswer answer = MakeProbeAnswer();
  if (std::memcmp(indices, answer.data(), sizeof(answer)) == 0) return absl::OkStatus();
  return absl::InternalError("the selection is wrong: one side does not see what the other wrote");
}

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_PROBE_ROW_H_
