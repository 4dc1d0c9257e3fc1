#include "tests/bench/rpc/resident_client.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "tests/integration/server_process.h"
#include "tests/testing/random.h"
#include "tests/testing/requests.h"
#include "tests/testing/score_generators.h"

namespace winnow::testing {
namespace {

constexpr int32_t kPageSize = 64;
// Random scores repeat after this many rows: making them must not take longer than measuring.
constexpr int64_t kDistinctRows = 64;

double Micros(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) * 1e6 +
         static_cast<double>(duration.nanos()) * 1e-3;
}

double MicrosSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - begin).count();
}

void Require(bool ok, const char* what, const std::string& why = "") {
  if (ok) return;
  std::fprintf(stderr, "the server refused %s: %s\n", what, why.c_str());
  std::exit(1);
}

}  // namespace

void Samples::Add(double round_trip_micros, const v1::Timing& timing) {
  round_trip.push_back(round_trip_micros);
  queue.push_back(Micros(timing.queue_duration()));
  launch.push_back(Micros(timing.launch_duration()));
  device.push_back(Micros(timing.device_duration()));
  total.push_back(Micros(timing.total_duration()));
}

void Samples::AddError(const std::string& message) {
  if (errors++ == 0) first_error = message;
}

void Samples::Append(const Samples& other) {
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(round_trip, other.round_trip);
  append(queue, other.queue);
  append(launch, other.launch);
  append(device, other.device);
  append(total, other.total);
  if (errors == 0) first_error = other.first_error;
  errors += other.errors;
}

double Quantile(std::vector<double> values, double quantile) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(quantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

ResidentClient::ResidentClient(std::shared_ptr<grpc::Channel> channel, const Shape& shape,
                               uint64_t seed)
    : shape_(shape), session_(std::move(channel), {}) {
  Require(session_.opened(), "a lease");
  const int64_t scores_bytes = shape.rows * shape.columns * int64_t{4};
  grpc::Status status =
      session_.Allocate(scores_bytes + kPlaces * shape.rows * shape.k * int64_t{4}, buffer_);
  Require(status.ok(), "a buffer", status.error_message());
  Random random(seed);
  const int64_t distinct = std::min(shape.rows, kDistinctRows);
  const std::string block =
      BytesOf<float>(MakeScores(Pattern::kNormal, distinct * shape.columns, random));
  for (int64_t row = 0; row < shape.rows; row += distinct) {
    const int64_t rows = std::min(distinct, shape.rows - row);
    status = session_.Write(buffer_, row * shape.columns * 4,
                            block.substr(0, static_cast<size_t>(rows * shape.columns * 4)));
    Require(status.ok(), "scores", status.error_message());
  }
  v1::CreatePageTableRequest create;
  create.set_lease_id(session_.id());
  create.set_row_count(1);
  create.set_column_count((shape.columns + kPageSize - 1) / kPageSize);
  create.set_page_size(kPageSize);
  std::vector<int32_t> pages(static_cast<size_t>(create.column_count()));
  std::iota(pages.begin(), pages.end(), 0);
  *create.mutable_initial() = Int32Tensor(1, create.column_count(), pages);
  v1::CreatePageTableResponse table;
  status = session_.memory().CreatePageTable(Patient().get(), create, &table);
  Require(status.ok(), "a page table", status.error_message());

  request_.set_lease_id(session_.id());
  auto& step = *request_.mutable_step();
  *step.mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, shape.rows, shape.columns, buffer_);
  const auto rows = static_cast<size_t>(shape.rows);
  *step.mutable_lengths() =
      Int32Vector(std::vector<int32_t>(rows, static_cast<int32_t>(shape.columns)));
  step.set_k(shape.k);
  step.set_deterministic(true);
  *step.mutable_page_table()->mutable_resource() = table.page_table();
  if (rows > 1) {
    *step.mutable_page_table()->mutable_row_indices() = Int32Vector(std::vector<int32_t>(rows, 0));
  }
  *step.mutable_slots() = BufferTarget(buffer_, scores_bytes);
}

std::string ResidentClient::Slots(int place) {
  const int64_t place_bytes = shape_.rows * shape_.k * 4;
  v1::ReadBufferRequest request;
  request.set_lease_id(session_.id());
  *request.mutable_buffer() = buffer_;
  request.set_offset_bytes(shape_.rows * shape_.columns * 4 + place * place_bytes);
  request.set_size_bytes(place_bytes);
  const auto context = Patient();
  const auto reader = session_.memory().ReadBuffer(context.get(), request);
  v1::ReadBufferResponse chunk;
  std::string bytes;
  while (reader->Read(&chunk)) bytes += chunk.data();
  Require(reader->Finish().ok(), "reading slots");
  return bytes;
}

void RunUnary(v1::IndexerService::Stub& indexer, const v1::TopKRequest& request,
              const std::function<bool(int64_t done)>& stop, Samples& samples,
              std::chrono::microseconds pause) {
  auto next = SteadyClock::now();
  for (int64_t done = 0; !stop(done); ++done) {
    grpc::ClientContext context;
    v1::TopKResponse response;
    const auto begin = SteadyClock::now();
    const grpc::Status status = indexer.TopK(&context, request, &response);
    if (status.ok()) {
      samples.Add(MicrosSince(begin), response.timing());
    } else {
      samples.AddError(status.error_message());
    }
    next = std::max(next + pause, SteadyClock::now());
    if (pause.count() > 0) std::this_thread::sleep_until(next);
  }
}

namespace {

// The commands of a stream that are in flight, each with a place of its own for its slots.
class Commands {
 public:
  explicit Commands(const v1::TopKRequest& request)
      : slots_at_(request.step().slots().buffer().offset_bytes()),
        place_bytes_(request.step().scores().row_count() * request.step().k() * 4) {
    *command_.mutable_execute()->add_steps()->mutable_top_k() = request.step();
  }

  // The next one to send.
  const v1::ExecuteStreamRequest& Next(int place) {
    command_.set_message_id(++last_id_);
    auto& step = *command_.mutable_execute()->mutable_steps(0)->mutable_top_k();
    if (step.has_slots()) {
      step.mutable_slots()->mutable_buffer()->set_offset_bytes(slots_at_ + place * place_bytes_);
    }
    in_flight_[last_id_] = {SteadyClock::now(), place};
    return command_;
  }

  // The place that an answer makes free; nullopt when it answers none of these.
  std::optional<int> Finish(const v1::ExecuteStreamResponse& answer, Samples& samples) {
    const auto found = in_flight_.find(answer.message_id());
    if (found == in_flight_.end()) return std::nullopt;
    const InFlight finished = found->second;
    in_flight_.erase(found);
    if (answer.has_result()) {
      samples.Add(MicrosSince(finished.begin), answer.result().timing());
    } else {
      samples.AddError(answer.error().message());
    }
    return finished.place;
  }

  bool empty() const { return in_flight_.empty(); }

 private:
  struct InFlight {
    SteadyClock::time_point begin;
    int place = 0;
  };
  const int64_t slots_at_;
  const int64_t place_bytes_;
  v1::ExecuteStreamRequest command_;
  std::map<int64_t, InFlight> in_flight_;
  int64_t last_id_ = 0;
};

}  // namespace

void RunStream(v1::IndexerService::Stub& indexer, const v1::TopKRequest& request, int in_flight,
               const std::function<bool(int64_t done)>& stop, Samples& samples,
               std::chrono::microseconds pause) {
  grpc::ClientContext context;
  const auto stream = indexer.ExecuteStream(&context);
  v1::ExecuteStreamRequest open;
  open.mutable_open()->set_lease_id(request.lease_id());
  v1::ExecuteStreamResponse answer;
  if (!stream->Write(open) || !stream->Read(&answer)) {
    samples.AddError("the stream did not open: " + stream->Finish().error_message());
    return;
  }
  Commands commands(request);
  auto next = SteadyClock::now();
  for (int place = 0; place < in_flight; ++place) stream->Write(commands.Next(place));
  for (int64_t done = 1; !commands.empty() && stream->Read(&answer); ++done) {
    const std::optional<int> place = commands.Finish(answer, samples);
    if (!place.has_value() || stop(done)) continue;
    next = std::max(next + pause, SteadyClock::now());
    if (pause.count() > 0) std::this_thread::sleep_until(next);
    stream->Write(commands.Next(*place));
  }
  stream->WritesDone();
  while (stream->Read(&answer)) {
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok()) samples.AddError(status.error_message());
}

std::function<bool(int64_t)> After(int64_t calls) {
  return [calls](int64_t done) { return done >= calls; };
}

std::function<bool(int64_t)> For(std::chrono::milliseconds time) {
  const auto end = SteadyClock::now() + time;
  return [end](int64_t) { return SteadyClock::now() >= end; };
}

}  // namespace winnow::testing
