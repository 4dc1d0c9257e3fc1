// A decode loop as an engine would run it: scores in memory that the server shares, a page table
// that it keeps, commands over one stream. Prints the three best positions of two rows after the
// last step. Usage: lease_client [TARGET], e.g. unix:/run/user/1000/winnow.sock; default: the local
// server's socket. Shared memory needs a Unix socket.

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
constexpr int kSteps = 2;

int Fail(const absl::Status& status) {
  std::cerr << status.ToString(absl::StatusToStringMode::kWithNoExtraData) << "\n";
  return 1;
}

// What the model would write: this step's scores of both rows. What lies past a row's length is
// never read.
void WriteScores(absl::Span<float> scores) {
  const std::vector<float> rows = {0.5f, 4.0f, 1.0f, 3.0f, 2.0f, 0, 0, 0,  //
                                   9.0f, 7.0f, 8.0f, 0.0f, 0.0f, 0, 0, 0};
  std::copy(rows.begin(), rows.end(), scores.begin());
}

// What the engine's allocator would give: pages 10, 11, ... to row 0, 20, 21, ... to row 1.
int32_t PageFor(int64_t row, int64_t position) {
  return static_cast<int32_t>(10 * (row + 1) + position / kPageSize);
}

void Print(const wc::TopKResult& result) {
  for (int64_t row = 0; row < kRows; ++row) {
    std::cout << "row " << row << ":";
    for (const int32_t position : result.indices.row<int32_t>(row)) std::cout << " " << position;
    std::cout << "\n";
  }
}

// `lengths` holds the prompts' lengths, and their pages are in the table. Each step adds a position
// to each row, and a page to the rows whose pages are full.
absl::StatusOr<wc::TopKResult> Decode(const wc::Lease& lease, const wc::SharedBuffer& scores,
                                      const wc::PageTable& pages, std::vector<int32_t> lengths) {
  const wc::Client client = lease.client();
  absl::StatusOr<wc::TopKResult> result;
  for (int step = 0; step < kSteps; ++step) {
    wc::PageTableUpdate update;
    for (int64_t row = 0; row < kRows; ++row) {
      const int32_t position = lengths[row]++;
      if (position % kPageSize != 0) continue;
      update.appends.push_back({.row = row, .page_ids = {PageFor(row, position)}});
    }
    if (!update.appends.empty()) {
      const auto version = pages.Update(update);
      if (!version.ok()) return version.status();
    }

    WriteScores(scores.elements<float>());
    result = client.TopK({.scores = scores.AsMatrix(winnow::DType::kFloat32, kRows, kColumns),
                          .lengths = wc::Int32Column(lengths),
                          .k = kK,
                          .page_table = pages.View(),
                          .order = winnow::Order::kScore,
                          .slots = wc::Placement::kInline});
    if (!result.ok()) return result.status();
    // Here attention reads the slots of result->slots.
  }
  return result;
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

  // The prompts: three positions of row 0 on two pages, one of row 1 on one.
  const auto prompts =
      pages->Update({.appends = {{.row = 0, .page_ids = {PageFor(0, 0), PageFor(0, 2)}},
                                 {.row = 1, .page_ids = {PageFor(1, 0)}}}});
  if (!prompts.ok()) return Fail(prompts.status());
  const auto result = Decode(*lease, *scores, *pages, {3, 1});
  if (!result.ok()) return Fail(result.status());

  Print(*result);
  // Position 1 of row 0 is on page 10: slot 10 * 2 + 1.
  if (result->slots.row<int32_t>(0)[0] != 21) return Fail(absl::InternalError("wrong slot"));
}
