// Selects the three largest scores of two rows on a running server.
// Usage: topk_client [TARGET], e.g. unix:/tmp/winnow.sock; default: the local server's socket.

#include <iostream>
#include <vector>

#include "winnow/client/client.h"

namespace wc = winnow::client;

namespace {

// A line for people, and one with what programs branch on.
int Fail(const absl::Status& status) {
  std::cerr << absl::StatusCodeToString(status.code()) << ": " << status.message() << "\n";
  if (const auto info = winnow::GetErrorInfo(status)) {
    std::cerr << "reason " << winnow::Name(info->reason) << ", field '" << info->field
              << "', value '" << info->value << "', accepted '" << info->limit << "'\n";
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto client = wc::Client::Create({.target = argc > 1 ? argv[1] : ""});
  if (!client.ok()) return Fail(client.status());

  const std::vector<float> scores = {0.5f, 4.0f, 1.0f, 3.0f, 2.0f,   //
                                     9.0f, 7.0f, 8.0f, 0.0f, 0.0f};  // the last two are not used
  const std::vector<int32_t> lengths = {5, 3};
  const auto result = client->TopK({.scores = wc::Float32Matrix(scores.data(), 2, 5),
                                    .lengths = wc::Int32Column(lengths),
                                    .k = 3,
                                    .order = winnow::Order::kScore},
                                   {.timeout = absl::Seconds(10), .wait_for_ready = true});
  if (!result.ok()) return Fail(result.status());

  for (int64_t row = 0; row < result->indices.rows(); ++row) {
    std::cout << "row " << row << ":";
    for (const int32_t position : result->indices.row<int32_t>(row)) std::cout << " " << position;
    std::cout << "\n";
  }
}
