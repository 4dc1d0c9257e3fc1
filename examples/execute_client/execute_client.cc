// Several steps in one call: the best blocks of a row, as the source layer of a two-level indexer
// publishes them. What a step keeps, the next one reads; it never leaves the server.
// Usage: execute_client [TARGET], e.g. unix:/tmp/winnow.sock; default: the local server's socket.

#include <iostream>
#include <vector>

#include "winnow/client/client.h"

namespace wc = winnow::client;

namespace {

int Fail(const absl::Status& status) {
  std::cerr << status.ToString(absl::StatusToStringMode::kWithNoExtraData) << "\n";
  return 1;
}

void Print(const wc::StepResult& published) {
  std::cout << "blocks:";
  for (const int32_t block : published.Find(wc::OutputName::kBlocks)->row<int32_t>(0)) {
    std::cout << " " << block;
  }
  const wc::Matrix& lengths = *published.Find(wc::OutputName::kCandidateLengths);
  std::cout << "\ncandidates: " << lengths.row<int32_t>(0)[0] << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const auto client = wc::Client::Create({.target = argc > 1 ? argv[1] : ""});
  if (!client.ok()) return Fail(client.status());

  // Six blocks of two, the last one half full: 1 9 | 2 3 | 8 0 | 7 4 | 5 6 | 0.
  const std::vector<float> scores = {1, 9, 2, 3, 8, 0, 7, 4, 5, 6, 0};
  const std::vector<int32_t> lengths = {11};
  wc::ExecuteBuilder chain;
  const wc::Step maxima = chain.BlockAmax({.scores = wc::Float32Matrix(scores.data(), 1, 11),
                                           .lengths = wc::Int32Column(lengths),
                                           .block_size = 2,
                                           .keys = wc::Placement::kKeep,
                                           .block_counts = wc::Placement::kKeep});
  const wc::Step best = chain.TopK({.scores = maxima.Output(wc::OutputName::kKeys),
                                    .lengths = maxima.Output(wc::OutputName::kBlockCounts),
                                    .k = 3,
                                    .indices = wc::Placement::kKeep});
  const wc::Step table = chain.SortCandidateBlocks({.blocks = best.Output(wc::OutputName::kIndices),
                                                    .lengths = wc::Int32Column(lengths),
                                                    .block_size = 2,
                                                    .candidate_lengths = wc::Placement::kInline});
  const auto result =
      client->Execute(chain.request(), {.timeout = absl::Seconds(10), .wait_for_ready = true});
  if (!result.ok()) return Fail(result.status());
  Print(result->steps[table.index()]);
}
