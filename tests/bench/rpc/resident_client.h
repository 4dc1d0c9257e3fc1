// A client whose scores lie on the server's device, as those of an engine do, and the loops that
// time its requests.

#ifndef WINNOW_TESTS_BENCH_RPC_RESIDENT_CLIENT_H_
#define WINNOW_TESTS_BENCH_RPC_RESIDENT_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "tests/integration/lease_session.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {

using SteadyClock = std::chrono::steady_clock;

// Microseconds, one entry for each answer.
struct Samples {
  std::vector<double> round_trip, queue, launch, device, total;
  int64_t errors = 0;
  std::string first_error;

  void Add(double round_trip_micros, const v1::Timing& timing);
  void AddError(const std::string& message);
  void Append(const Samples& other);
  int64_t count() const { return static_cast<int64_t>(round_trip.size()); }
};
// 0 for none.
double Quantile(std::vector<double> values, double quantile);

// A lease with a buffer, a page table and a request: the top `k` of each of `rows` rows of
// `columns` random scores, slots written behind the scores. There is a place for the slots of each
// request in flight, because requests that write the same bytes at once are refused.
class ResidentClient {
 public:
  struct Shape {
    int64_t rows = 1;
    int64_t columns = 131072;
    int32_t k = 512;
  };
  static constexpr int kPlaces = 16;
  // Ends the program when the server refuses. `seed` gives the scores.
  ResidentClient(std::shared_ptr<grpc::Channel> channel, const Shape& shape, uint64_t seed);

  const v1::TopKRequest& request() const { return request_; }
  const std::string& lease_id() const { return session_.id(); }
  v1::IndexerService::Stub& indexer() { return session_.indexer(); }
  // What the last request that used a place wrote there; unary ones use the first.
  std::string Slots(int place = 0);

 private:
  const Shape shape_;
  LeaseSession session_;
  v1::ResourceId buffer_;
  v1::TopKRequest request_;
};

// One unary call after another until `stop` says so, which is asked before each; with `pause`,
// calls start that far apart.
void RunUnary(v1::IndexerService::Stub& indexer, const v1::TopKRequest& request,
              const std::function<bool(int64_t done)>& stop, Samples& samples,
              std::chrono::microseconds pause = {});

// The same request as commands of a stream, `in_flight` of them at any time, each with a place of
// its own: at most kPlaces.
void RunStream(v1::IndexerService::Stub& indexer, const v1::TopKRequest& request, int in_flight,
               const std::function<bool(int64_t done)>& stop, Samples& samples,
               std::chrono::microseconds pause = {});

// stop() after a number of calls, or a time from now on.
std::function<bool(int64_t)> After(int64_t calls);
std::function<bool(int64_t)> For(std::chrono::milliseconds time);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_BENCH_RPC_RESIDENT_CLIENT_H_
