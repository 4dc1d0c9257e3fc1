// Requests on resources and steps that a server must refuse, each with the code, reason, field,
// value and limit that it must name. One file for each kind of request: refusals_{ids,memory,
// page_tables,operations,steps}.cc; refusals_scene.cc makes what they name.

#ifndef WINNOW_TESTS_INTEGRATION_REFUSALS_H_
#define WINNOW_TESTS_INTEGRATION_REFUSALS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/support/status.h"
#include "tests/integration/lease_session.h"
#include "tests/integration/server_process.h"
#include "winnow/v1/error_detail.pb.h"

namespace winnow::testing {

// The flags of the server that the refusals are made for.
std::vector<std::string> RefusalFlags();

// Two leases with a resource of each kind. Everything that a refused request may name.
class RefusalScene {
 public:
  explicit RefusalScene(const ServerProcess& server);

  LeaseSession& mine() { return *mine_; }
  LeaseSession& other() { return *other_; }
  const std::string& ended_lease_id() const { return ended_lease_id_; }
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }

  // Of `mine`. `scores` has two rows of eight scores and their lengths behind them, at byte 64; the
  // rest of its 4,096 bytes are a pattern.
  v1::ResourceId scores, results, read_only, table, plan;
  v1::ResourceId foreign_buffer, foreign_table, foreign_plan;  // of `other`
  v1::ResourceId released_buffer, released_table, released_plan;

  // TopK of `scores` into `results`, which succeeds as it stands: k 3, slots by `table`.
  v1::TopKRequest GoodTopKOnResources() const;

  // All that a refused request could have changed: bytes of buffers, versions of page tables, what
  // the leases own.
  std::string Fingerprint();

 private:
  v1::ResourceId CreateTable(LeaseSession& session);
  v1::ResourceId CreatePlan(LeaseSession& session);
  void MakeMine();

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<LeaseSession> mine_, other_;
  std::string ended_lease_id_;
};

struct Outcome {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;
  v1::ErrorDetail detail;
};
Outcome OutcomeOf(const grpc::Status& status);
// Of a command of ExecuteStream, or of the stream when it ends. Nothing is read before `once_sent`
// has returned.
Outcome OutcomeOfStream(
    const std::shared_ptr<grpc::Channel>& channel,
    const std::vector<v1::ExecuteStreamRequest>& messages,
    const std::function<void()>& once_sent = [] {});

// What a refusal must say.
struct Says {
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  std::string field, value, limit;  // value "*": a number that the server chose
  grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
  // Found in data of the device while the operation ran: the outputs hold padding then.
  bool found_while_running = false;
};

struct Refusal {
  std::string name;
  Says says;
  std::function<Outcome(RefusalScene& scene)> call;
};

std::vector<Refusal> IdRefusals();
std::vector<Refusal> MemoryRefusals();
std::vector<Refusal> PageTableRefusals();
std::vector<Refusal> OperationRefusals();
std::vector<Refusal> StepRefusals();
std::vector<Refusal> StreamRefusals();
std::vector<Refusal> LeaseRefusals();

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_REFUSALS_H_
