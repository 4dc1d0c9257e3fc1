// Steps that use each other's outputs, and the streams: ExecuteStream and OpenLease.

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/integration/held_queue.h"
#include "tests/integration/refusal_table.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using grpc::StatusCode;
using Table = RefusalTable<v1::ExecuteRequest>;

constexpr auto kBadReference = v1::ERROR_REASON_STEP_REFERENCE_INVALID;

// Block maxima of two rows of eight in blocks of two, then the top two blocks by those keys, into
// a buffer.
v1::ExecuteRequest GoodSteps(RefusalScene& scene) {
  v1::ExecuteRequest request = GoodExecute();
  request.set_lease_id(scene.mine().id());
  *request.mutable_steps(0)->mutable_block_amax()->mutable_scores() =
      BufferTensor(v1::DATA_TYPE_FLOAT32, 2, 8, scene.scores);
  *request.mutable_steps(1)->mutable_top_k()->mutable_indices() = BufferTarget(scene.results, 128);
  return request;
}

v1::TopKStep& Second(v1::ExecuteRequest& request) {
  return *request.mutable_steps(1)->mutable_top_k();
}

void AddReferences(Table& table) {
  // Forward, to itself, far away, negative.
  for (const int32_t step : {1, 2, 63, -1, INT32_MAX, INT32_MIN}) {
    table.Add(
        "the second step reads step " + std::to_string(step),
        {kBadReference, "steps[1].scores.step_output.step_index", std::to_string(step), "0 to 0"},
        [step](RefusalScene&, auto& request) {
          Second(request).mutable_scores()->mutable_step_output()->set_step_index(step);
        });
  }
  table.Add("the first step reads the second: a cycle",
            {kBadReference, "steps[0].lengths.step_output.step_index", "1",
             "no reference in the first step"},
            [](RefusalScene&, auto& request) {
              *request.mutable_steps(0)->mutable_block_amax()->mutable_lengths() =
                  StepOutputTensor(v1::DATA_TYPE_INT32, 2, 1, 1, v1::OUTPUT_NAME_INDICES);
            });
  table.Add("the first step reads itself",
            {kBadReference, "steps[0].lengths.step_output.step_index", "0",
             "no reference in the first step"},
            [](RefusalScene&, auto& request) {
              *request.mutable_steps(0)->mutable_block_amax()->mutable_lengths() =
                  StepOutputTensor(v1::DATA_TYPE_INT32, 2, 1, 0, v1::OUTPUT_NAME_BLOCK_COUNTS);
            });
}

void AddOutputNames(Table& table) {
  const auto output = [&](const std::string& name, v1::OutputName wrong, Says says) {
    table.Add(name, std::move(says), [wrong](RefusalScene&, auto& request) {
      Second(request).mutable_scores()->mutable_step_output()->set_output(wrong);
    });
  };
  output("an output of another operation", v1::OUTPUT_NAME_SLOTS,
         {kBadReference, "steps[1].scores.step_output.output", "2", "outputs that step 0 places"});
  output("no output named", v1::OUTPUT_NAME_UNSPECIFIED,
         {v1::ERROR_REASON_FIELD_MISSING, "steps[1].scores.step_output.output", "",
          "a reference needs it"});
  output("an output that does not exist", static_cast<v1::OutputName>(99),
         {v1::ERROR_REASON_ENUM_UNKNOWN, "steps[1].scores.step_output.output", "99", "1 to 8"});
  table.Add(
      "an output that is not placed",
      {kBadReference, "steps[1].lengths.step_output.output", "5", "outputs that step 0 places"},
      [](RefusalScene&, auto& request) {
        request.mutable_steps(0)->mutable_block_amax()->clear_block_counts();
      });
}

void AddShapes(Table& table) {
  table.Add("float keys read as bfloat16",
            {kBadReference, "steps[1].scores.data_type", "2", "1, the output's"},
            [](RefusalScene&, auto& request) {
              Second(request).mutable_scores()->set_data_type(v1::DATA_TYPE_BFLOAT16);
            });
  table.Add("counts read as scores",
            {v1::ERROR_REASON_DTYPE_UNSUPPORTED, "steps[1].scores.data_type", "3",
             "1 (float32) or 2 (bfloat16)"},
            [](RefusalScene&, auto& request) {
              *Second(request).mutable_scores() =
                  StepOutputTensor(v1::DATA_TYPE_INT32, 2, 1, 0, v1::OUTPUT_NAME_BLOCK_COUNTS);
            });
  table.Add("keys read as lengths",
            {kBadReference, "steps[1].lengths.data_type", "3", "1, the output's"},
            [](RefusalScene&, auto& request) {
              *Second(request).mutable_lengths() =
                  StepOutputTensor(v1::DATA_TYPE_INT32, 2, 1, 0, v1::OUTPUT_NAME_KEYS);
            });
  table.Add(
      "one row more than the output",
      {kBadReference, "steps[1].scores.row_count", "3", "2, the output's"},
      [](RefusalScene&, auto& request) { Second(request).mutable_scores()->set_row_count(3); });
  table.Add(
      "one column more than the output",
      {kBadReference, "steps[1].scores.column_count", "5", "4, the output's"},
      [](RefusalScene&, auto& request) { Second(request).mutable_scores()->set_column_count(5); });
  table.Add(
      "gaps in the output",
      {kBadReference, "steps[1].scores.row_stride", "5", "0 or 4; outputs have no gaps"},
      [](RefusalScene&, auto& request) { Second(request).mutable_scores()->set_row_stride(5); });
}

void AddMissingLease(Table& table) {
  table.Add("a buffer without a lease",
            {v1::ERROR_REASON_FIELD_MISSING, "lease_id", "", "resources belong to a lease"},
            [](RefusalScene&, auto& request) { request.clear_lease_id(); });
}

void AddMemory(Table& table) {
  constexpr auto kOverlap = v1::ERROR_REASON_OUTPUTS_OVERLAP;
  table.Add("two steps that write one range",
            {kOverlap, "steps[1].indices", "steps[0].keys", "memory of its own"},
            [](RefusalScene& scene, auto& request) {
              *request.mutable_steps(0)->mutable_block_amax()->mutable_keys() =
                  BufferTarget(scene.results, 112);
            });
  table.Add("a step that writes what an earlier one reads",
            {kOverlap, "steps[1].indices", "steps[0].scores", "memory of its own"},
            [](RefusalScene& scene, auto& request) {
              *Second(request).mutable_indices() = BufferTarget(scene.scores, 8);
            });
  table.Add("a step that writes what a later one reads",
            {kOverlap, "steps[0].keys", "steps[1].lengths", "memory of its own"},
            [](RefusalScene& scene, auto& request) {
              *request.mutable_steps(0)->mutable_block_amax()->mutable_keys() =
                  BufferTarget(scene.scores, 68);
              *Second(request).mutable_lengths() =
                  BufferTensor(v1::DATA_TYPE_INT32, 2, 1, scene.scores, 64);
            });
  table.Add("a kept output with a buffer",
            {v1::ERROR_REASON_FIELDS_CONFLICT, "steps[0].keys.buffer", "", ""},
            [](RefusalScene& scene, auto& request) {
              auto& keys = *request.mutable_steps(0)->mutable_block_amax()->mutable_keys();
              keys = BufferTarget(scene.results);
              keys.set_placement(v1::OUTPUT_PLACEMENT_KEEP);
            });
  table.Add("a second step whose buffer is another lease's",
            {v1::ERROR_REASON_RESOURCE_FOREIGN, "steps[1].indices.buffer.buffer", "*", "",
             StatusCode::PERMISSION_DENIED},
            [](RefusalScene& scene, auto& request) {
              *Second(request).mutable_indices() = BufferTarget(scene.foreign_buffer);
            });
  table.Add(
      "a length of the first step past its columns",
      {v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "steps[0].lengths", "9", "at most 8"},
      [](RefusalScene&, auto& request) {
        *request.mutable_steps(0)->mutable_block_amax()->mutable_lengths() = Int32Vector({8, 9});
      });
}

v1::ExecuteStreamRequest OpenMessage() {
  v1::ExecuteStreamRequest message;
  message.mutable_open();
  return message;
}

v1::ExecuteStreamRequest Command(int64_t id, const v1::TopKRequest& top_k) {
  v1::ExecuteStreamRequest message;
  message.set_message_id(id);
  *message.mutable_execute()->add_steps()->mutable_top_k() = top_k.step();
  return message;
}

using Messages = std::vector<v1::ExecuteStreamRequest>;

void AddStream(std::vector<Refusal>& all, const std::string& name, Says says,
               std::function<Messages(RefusalScene&)> messages) {
  all.push_back({"IndexerService/ExecuteStream: " + name, std::move(says),
                 [messages = std::move(messages)](RefusalScene& scene) {
                   return OutcomeOfStream(scene.channel(), messages(scene));
                 }});
}

// The first command waits in a queue that stands still until the second has been looked at.
Outcome OutcomeOfAnIdInFlight() {
  HeldQueue held;
  Messages messages{OpenMessage(), Command(7, {}), Command(7, GoodTopK())};
  messages[0].mutable_open()->set_lease_id(held.session().id());
  *messages[1].mutable_execute()->mutable_steps(0) = held.bulk_step();
  return OutcomeOfStream(held.channel(), messages, [&held] {
    EXPECT_TRUE(held.AwaitTaken(1)) << "the first command does not wait";
    held.LetGo();
  });
}

void AddStreamLeases(std::vector<Refusal>& all) {
  AddStream(all, "a guessed lease",
            {v1::ERROR_REASON_LEASE_NOT_FOUND, "lease_id", "", "", StatusCode::NOT_FOUND},
            [](RefusalScene&) {
              Messages messages{OpenMessage()};
              messages[0].mutable_open()->set_lease_id(std::string(32, '3'));
              return messages;
            });
  AddStream(all, "a lease that ended",
            {v1::ERROR_REASON_LEASE_ENDED, "lease_id", "", "", StatusCode::FAILED_PRECONDITION},
            [](RefusalScene& scene) {
              Messages messages{OpenMessage()};
              messages[0].mutable_open()->set_lease_id(scene.ended_lease_id());
              return messages;
            });
  AddStream(all, "a command on another lease's buffer",
            {v1::ERROR_REASON_RESOURCE_FOREIGN, "steps[0].scores.buffer.buffer", "*", "",
             StatusCode::PERMISSION_DENIED},
            [](RefusalScene& scene) {
              v1::TopKRequest request = scene.GoodTopKOnResources();
              *request.mutable_step()->mutable_scores()->mutable_buffer()->mutable_buffer() =
                  scene.foreign_buffer;
              Messages messages{OpenMessage(), Command(1, request)};
              messages[0].mutable_open()->set_lease_id(scene.mine().id());
              return messages;
            });
  for (const int64_t seconds : {int64_t{-1}, INT64_MAX}) {
    AddStream(
        all, "a timeout of " + std::to_string(seconds) + " seconds",
        {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "queue_timeout_duration.seconds",
         std::to_string(seconds), "0 to 315576000000"},
        [seconds](RefusalScene&) {
          Messages messages{OpenMessage(), Command(1, GoodTopK())};
          messages[1].mutable_execute()->mutable_queue_timeout_duration()->set_seconds(seconds);
          return messages;
        });
  }
}

using SpoilLease = std::function<void(RefusalScene&, v1::OpenLeaseRequest&)>;

void AddLease(std::vector<Refusal>& all, const std::string& name, Says says, SpoilLease spoil) {
  all.push_back({"LeaseService/OpenLease: " + name, std::move(says),
                 [spoil = std::move(spoil)](RefusalScene& scene) {
                   v1::OpenLeaseRequest request;
                   spoil(scene, request);
                   const auto stub = v1::LeaseService::NewStub(scene.channel());
                   const auto context = Patient();
                   const auto stream = stub->OpenLease(context.get(), request);
                   v1::OpenLeaseResponse event;
                   while (stream->Read(&event)) continue;
                   return OutcomeOf(stream->Finish());
                 }});
}

void AddCloses(std::vector<Refusal>& all) {
  RefusalTable<v1::CloseLeaseRequest> table("LeaseService/CloseLease", [](RefusalScene& scene) {
    v1::CloseLeaseRequest request;
    request.set_lease_id(scene.mine().id());
    return request;
  });
  const Says not_found{v1::ERROR_REASON_LEASE_NOT_FOUND, "lease_id", "", "", StatusCode::NOT_FOUND};
  table.Add("no lease", not_found, [](RefusalScene&, auto& request) { request.clear_lease_id(); });
  table.Add("a guessed lease", not_found,
            [](RefusalScene&, auto& request) { request.set_lease_id(std::string(32, '5')); });
  table.Add("part of a lease's id", not_found,
            [](RefusalScene&, auto& request) { request.mutable_lease_id()->pop_back(); });
  table.Add("a name of 64 KiB", not_found,
            [](RefusalScene&, auto& request) { request.set_lease_id(std::string(65536, '5')); });
  table.Add(
      "a lease that ended",
      {v1::ERROR_REASON_LEASE_ENDED, "lease_id", "", "", StatusCode::FAILED_PRECONDITION},
      [](RefusalScene& scene, auto& request) { request.set_lease_id(scene.ended_lease_id()); });
  table.MoveTo(all);
}

}  // namespace

std::vector<Refusal> StepRefusals() {
  std::vector<Refusal> all;
  Table table("IndexerService/Execute", GoodSteps);
  AddReferences(table);
  AddOutputNames(table);
  AddShapes(table);
  AddMissingLease(table);
  AddMemory(table);
  table.MoveTo(all);
  return all;
}

std::vector<Refusal> StreamRefusals() {
  std::vector<Refusal> all;
  const Says no_open{v1::ERROR_REASON_FIELD_MISSING, "open", "", ""};
  AddStream(all, "a command before open", no_open,
            [](RefusalScene&) { return Messages{Command(1, GoodTopK())}; });
  AddStream(all, "open a second time", {v1::ERROR_REASON_FIELDS_CONFLICT, "open", "", ""},
            [](RefusalScene&) {
              return Messages{OpenMessage(), OpenMessage()};
            });
  AddStream(all, "a message without a command", {v1::ERROR_REASON_FIELD_MISSING, "command", "", ""},
            [](RefusalScene&) {
              return Messages{OpenMessage(), v1::ExecuteStreamRequest()};
            });
  for (const int64_t id : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    AddStream(all, "message id " + std::to_string(id),
              {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "message_id", std::to_string(id),
               "numbers from 1 that no command in flight has"},
              [id](RefusalScene&) {
                return Messages{OpenMessage(), Command(id, GoodTopK())};
              });
  }
  all.push_back({"IndexerService/ExecuteStream: the id of a command in flight",
                 {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "message_id", "7",
                  "numbers from 1 that no command in flight has"},
                 [](RefusalScene&) { return OutcomeOfAnIdInFlight(); }});
  AddStreamLeases(all);
  return all;
}

std::vector<Refusal> LeaseRefusals() {
  std::vector<Refusal> all;
  const auto add = [&](const std::string& name, Says says, SpoilLease spoil) {
    AddLease(all, name, std::move(says), std::move(spoil));
  };
  for (const int32_t weight : {-1, INT32_MAX, INT32_MIN}) {
    add("weight " + std::to_string(weight),
        {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "weight", std::to_string(weight), "1 to 100"},
        [weight](RefusalScene&, auto& request) { request.set_weight(weight); });
  }
  add("a grace of 61 seconds",
      {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "resume_grace_duration", "1m1s", "0 to 1m"},
      [](RefusalScene&, auto& request) {
        request.mutable_resume_grace_duration()->set_seconds(61);
      });
  add("a grace of -1 second",
      {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "resume_grace_duration.seconds", "-1",
       "0 to 315576000000"},
      [](RefusalScene&, auto& request) {
        request.mutable_resume_grace_duration()->set_seconds(-1);
      });
  add("a name of 64 KiB", {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "display_name", "65536", "128"},
      [](RefusalScene&, auto& request) { request.set_display_name(std::string(65536, 'n')); });
  add("resuming a guessed lease",
      {v1::ERROR_REASON_LEASE_NOT_FOUND, "resume_lease_id", "", "", StatusCode::NOT_FOUND},
      [](RefusalScene&, auto& request) { request.set_resume_lease_id(std::string(32, '5')); });
  add("resuming a lease that ended",
      {v1::ERROR_REASON_LEASE_ENDED, "resume_lease_id", "", "", StatusCode::FAILED_PRECONDITION},
      [](RefusalScene& scene, auto& request) {
        request.set_resume_lease_id(scene.ended_lease_id());
      });
  add("resuming a lease that a stream holds",
      {v1::ERROR_REASON_RESOURCE_BUSY, "resume_lease_id", "", "", StatusCode::FAILED_PRECONDITION},
      [](RefusalScene& scene, auto& request) { request.set_resume_lease_id(scene.other().id()); });
  AddCloses(all);
  return all;
}

}  // namespace winnow::testing
