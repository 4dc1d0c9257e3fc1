#include "tests/bench/rpc/resident_parts.h"

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "grpcpp/create_channel.h"
#include "tests/bench/rpc/resident_client.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

constexpr ResidentClient::Shape kDecode = {.rows = 1, .columns = 131072, .k = 512};
constexpr int64_t kPrefillColumns = 65536;
constexpr int kInFlight = ResidentClient::kPlaces;

struct Line {
  const char* part;
  const char* subject;
  const char* api;
  int callers = 1;
  int in_flight = 1;
};

struct Load {
  double per_second = 0;
  double rows_per_launch = 0;
  double device_busy = 0;  // device seconds a second; launches may overlap
  int64_t wrong = 0;       // clients whose results were not those of a call alone
};

void Print(const Line& line, const Samples& samples, const Load& load = {}) {
  std::printf("%s,%s,%s,%d,%d,%lld,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.0f,%.2f,%.3f,%lld,%lld\n",
              line.part, line.subject, line.api, line.callers, line.in_flight,
              static_cast<long long>(samples.count()), Quantile(samples.round_trip, 0.5),
              Quantile(samples.round_trip, 0.99), Quantile(samples.queue, 0.5),
              Quantile(samples.launch, 0.5), Quantile(samples.device, 0.5),
              Quantile(samples.total, 0.5), load.per_second, load.rows_per_launch, load.device_busy,
              static_cast<long long>(load.wrong), static_cast<long long>(samples.errors));
  if (samples.errors > 0) std::fprintf(stderr, "%s\n", samples.first_error.c_str());
  std::fflush(stdout);
}

using Run = std::function<void(size_t caller, Samples& samples)>;

// `callers` threads at once; their samples together.
Samples RunCallers(int callers, const Run& run) {
  std::vector<Samples> samples(static_cast<size_t>(callers));
  std::vector<std::thread> threads;
  for (size_t caller = 0; caller < samples.size(); ++caller) {
    threads.emplace_back([&, caller] { run(caller, samples[caller]); });
  }
  for (std::thread& thread : threads) thread.join();
  Samples all;
  for (const Samples& one : samples) all.Append(one);
  return all;
}

std::vector<std::unique_ptr<ResidentClient>> MakeClients(ServerProcess& server, int count) {
  std::vector<std::unique_ptr<ResidentClient>> clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<ResidentClient>(server.Connect(server.unix_target()),
                                                       kDecode, static_cast<uint64_t>(i) + 1));
  }
  return clients;
}

v1::GetStatsResponse StatsOf(ServerProcess& server) {
  v1::GetStatsResponse stats;
  server.Admin()->GetStats(Patient().get(), {}, &stats);
  return stats;
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

// What the server did while `run` ran.
Load Observe(ServerProcess& server, const std::function<int64_t()>& run) {
  const v1::GetStatsResponse before = StatsOf(server);
  const auto begin = SteadyClock::now();
  const int64_t count = run();
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  const v1::GetStatsResponse after = StatsOf(server);
  const auto launches = static_cast<double>(after.launch_count() - before.launch_count());
  const auto requests =
      static_cast<double>(after.launched_request_count() - before.launched_request_count());
  return {.per_second = static_cast<double>(count) / seconds,
          .rows_per_launch = launches == 0 ? 0 : requests / launches,
          .device_busy =
              (Seconds(after.device_busy_duration()) - Seconds(before.device_busy_duration())) /
              seconds};
}

// Prefill without a pause, two requests in flight, while it lives.
class Prefill {
 public:
  Prefill(ServerProcess& server, int64_t rows)
      : client_(server.Connect(server.unix_target()),
                {.rows = rows, .columns = kPrefillColumns, .k = 512}, 999),
        thread_([this] {
          RunStream(
              client_.indexer(), client_.request(), 2, [this](int64_t) { return stop_.load(); },
              samples_);
        }) {}
  const Samples& Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return samples_;
  }
  ~Prefill() { Stop(); }

 private:
  ResidentClient client_;
  std::atomic<bool> stop_{false};
  Samples samples_;
  std::thread thread_;
};

void MeasureLoad(ServerProcess& server, const BenchOptions& options,
                 std::vector<std::unique_ptr<ResidentClient>>& clients,
                 const std::vector<std::string>& alone, const char* part) {
  Samples samples;
  const auto callers = static_cast<int>(clients.size());
  Load load = Observe(server, [&] {
    samples = RunCallers(callers, [&](size_t caller, Samples& own) {
      RunStream(clients[caller]->indexer(), clients[caller]->request(), kInFlight,
                For(options.time), own);
    });
    return samples.count();
  });
  for (size_t i = 0; i < clients.size(); ++i) {
    for (int place = 0; place < kInFlight; ++place) {
      load.wrong += clients[i]->Slots(place) != alone[i];
    }
  }
  Print({part, "winnow", "stream", callers, kInFlight}, samples, load);
}

}  // namespace

void PrintHeader() {
  std::printf(
      "part,subject,api,callers,in_flight,count,p50_us,p99_us,queue_p50_us,launch_p50_us,"
      "device_p50_us,total_p50_us,per_second,requests_per_launch,device_busy,wrong,errors\n");
}

void PrintKernel() {
  const KernelTimes times = MeasureKernel(kDecode);
  Print({"kernel", "back_to_back", "library"}, times.batch);
  Print({"kernel", "alone", "library"}, times.alone);
}

void MeasureLatency(ServerProcess& server, const BenchOptions& options) {
  for (const int callers : {1, 16}) {
    const auto clients = MakeClients(server, callers);
    const int64_t calls = options.calls / (callers == 1 ? 1 : 4);
    const auto unary = [&](int64_t count) {
      return RunCallers(callers, [&, count](size_t caller, Samples& own) {
        RunUnary(clients[caller]->indexer(), clients[caller]->request(), After(count), own);
      });
    };
    const auto stream = [&](int64_t count) {
      return RunCallers(callers, [&, count](size_t caller, Samples& own) {
        RunStream(clients[caller]->indexer(), clients[caller]->request(), 1, After(count), own);
      });
    };
    unary(calls / 10);
    Print({"latency", "winnow", "unary", callers, 1}, unary(calls));
    stream(calls / 10);
    Print({"latency", "winnow", "stream", callers, 1}, stream(calls));
  }
}

void MeasureEcho(const std::string& target, const BenchOptions& options) {
  // As large as the real request.
  v1::TopKRequest request = GoodTopK();
  const auto connect = [&] {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::IndexerService::NewStub(
        grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  };
  for (const int callers : {1, 16}) {
    const int64_t calls = options.calls / (callers == 1 ? 1 : 4);
    Print({"latency", "echo", "unary", callers, 1}, RunCallers(callers, [&](size_t, Samples& own) {
            RunUnary(*connect(), request, After(calls), own);
          }));
    Print({"latency", "echo", "stream", callers, 1}, RunCallers(callers, [&](size_t, Samples& own) {
            RunStream(*connect(), request, 1, After(calls), own);
          }));
  }
  Samples paced;
  RunUnary(*connect(), request, For(options.time), paced, std::chrono::milliseconds(1));
  Print({"paced_alone", "echo", "unary", 1, 1}, paced);
  const auto begin = SteadyClock::now();
  const Samples samples = RunCallers(options.clients, [&](size_t, Samples& own) {
    RunStream(*connect(), request, kInFlight, For(options.time), own);
  });
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  Print({"clients", "echo", "stream", options.clients, kInFlight}, samples,
        {.per_second = static_cast<double>(samples.count()) / seconds});
}

void MeasureClients(ServerProcess& server, const BenchOptions& options) {
  auto clients = MakeClients(server, options.clients);
  std::vector<std::string> alone;
  for (const auto& client : clients) {
    Samples one;
    RunUnary(client->indexer(), client->request(), After(1), one);
    alone.push_back(client->Slots());
  }
  MeasureLoad(server, options, clients, alone, "clients");
  Prefill prefill(server, options.prefill_rows);
  MeasureLoad(server, options, clients, alone, "clients_beside_prefill");
  Print({"clients_beside_prefill", "prefill", "stream", 1, 2}, prefill.Stop());
}

void MeasureSaturation(ServerProcess& server, const BenchOptions& options) {
  const auto decode = MakeClients(server, 1);
  const auto measure = [&](const char* part) {
    Samples unary, stream;
    RunUnary(decode[0]->indexer(), decode[0]->request(), For(options.time), unary,
             std::chrono::milliseconds(1));
    Print({part, "decode", "unary", 1, 1}, unary);
    RunStream(decode[0]->indexer(), decode[0]->request(), 1, For(options.time), stream,
              std::chrono::milliseconds(1));
    Print({part, "decode", "stream", 1, 1}, stream);
  };
  measure("paced_alone");
  Prefill prefill(server, options.prefill_rows);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  measure("saturation");
  const Samples& filled = prefill.Stop();
  Print({"saturation", "prefill", "stream", 1, 2}, filled);
}

}  // namespace winnow::testing
