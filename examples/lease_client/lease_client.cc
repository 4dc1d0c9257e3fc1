// A decode loop as an engine would run it: scores in memory that the server shares, a page table
// that it keeps, commands over one stream. Prints the three best positions of two rows. Usage:
// lease_client [TARGET], e.g. unix:/run/user/1000/winnow.sock; default: the local server's socket.
// Shared memory needs a Unix socket.

#include <algorithm>
#include <iostream>
#include <vector>

#include "winnow/client/lease.h"

namespace wc = winnow::client;

namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kColumns = 8;
constexpr int32_t kK = 3;
constexpr int32_t kPageSize = 2;

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

// What the model would write: this step's scores of both rows.
void WriteScores(absl::Span<float> scores) {
  const std::vector<float> rows = {0.5f, 4.0f, 1.0f, 3.0f, 2.0f, 0, 0, 0,   //
                                   9.0f, 7.0f, 8.0f, 0.0f, 0.0f, 0, 0, 0};  // row 1 uses three
  std::copy(rows.begin(), rows.end(), scores.begin());
}

}  // namespace

int main(int argc, char** argv) {
  const auto client = wc::Client::Create({.target = argc > 1 ? argv[1] : "", .streaming = true});
  if (!client.ok()) return Fail(client.status());
  // Everything below lives as long as the lease, and comes back by itself if the server restarts.
  const auto lease = client->OpenLease({.display_name = "lease_client"},
                                       {.timeout = absl::Seconds(10), .wait_for_ready = true});
  if (!lease.ok()) return Fail(lease.status());
  const auto scores = lease->ShareMemory(kRows * kColumns * sizeof(float));
  if (!scores.ok()) return Fail(scores.status());
  const auto pages = lease->CreatePageTable(
      {.rows = kRows, .columns = kColumns / kPageSize, .page_size = kPageSize});
  if (!pages.ok()) return Fail(pages.status());

  // Row 0 has five positions on pages 10, 11 and 12; row 1 three on pages 20 and 21.
  const auto filled = pages->Update(
      {.appends = {{.row = 0, .page_ids = {10, 11, 12}}, {.row = 1, .page_ids = {20, 21}}}});
  if (!filled.ok()) return Fail(filled.status());
  WriteScores(scores->elements<float>());
  const std::vector<int32_t> lengths = {5, 3};
  const auto result =
      lease->client().TopK({.scores = scores->AsMatrix(winnow::DType::kFloat32, kRows, kColumns),
                            .lengths = wc::Int32Column(lengths),
                            .k = kK,
                            .page_table = pages->View(),
                            .order = winnow::Order::kScore,
                            .slots = wc::Placement::kInline});
  if (!result.ok()) return Fail(result.status());

  for (int64_t row = 0; row < kRows; ++row) {
    std::cout << "row " << row << ":";
    for (const int32_t position : result->indices.row<int32_t>(row)) std::cout << " " << position;
    std::cout << "\n";
  }
  // Position 1 of row 0 is on page 10: slot 10 * 2 + 1.
  if (result->slots.row<int32_t>(0)[0] != 21) return Fail(absl::InternalError("wrong slot"));
}
