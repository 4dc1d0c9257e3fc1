// Execute and its references between steps, AdminService, and bytes that are no message.

#include <cstdint>
#include <limits>

#include "tests/integration/malformed_requests.h"
#include "tests/testing/requests.h"
#include "winnow/v1/admin_service.pb.h"

namespace winnow::testing {
namespace {

using Steps = MalformedTable<v1::ExecuteRequest>;

v1::TopKStep& Second(v1::ExecuteRequest& request) {
  return *request.mutable_steps(1)->mutable_top_k();
}

void AddStepLists(Steps& table) {
  table.Add("no steps", v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "steps",
            [](auto& r) { r.clear_steps(); });
  table.Add("65 steps", v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "steps", [](auto& r) {
    while (r.steps_size() < 65) *r.add_steps()->mutable_top_k() = GoodTopK().step();
  });
  table.Add("a step without an operation", v1::ERROR_REASON_FIELD_MISSING, "steps[1].operation",
            [](auto& r) { r.mutable_steps(1)->clear_operation(); });
  table.Add("a bad parameter in the second step", v1::ERROR_REASON_K_OUT_OF_RANGE, "steps[1].k",
            [](auto& r) { Second(r).set_k(0); });
  table.Add("bad data in the first step", v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "steps[0].lengths",
            [](auto& r) {
              *r.mutable_steps(0)->mutable_block_amax()->mutable_lengths() = Int32Vector({9, 1});
            });
  table.Add("bad data in an only step", v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "steps[0].lengths",
            [](auto& r) {
              r.mutable_steps()->RemoveLast();
              *r.mutable_steps(0)->mutable_block_amax()->mutable_lengths() = Int32Vector({9, 1});
            });
  table.Add(
      "kept outputs larger than the limit", v1::ERROR_REASON_MESSAGE_TOO_LARGE, "steps[0].keys",
      [](auto& r) {
        auto& step = *r.mutable_steps(0)->mutable_block_amax();
        step.set_key_column_count(1 << 20);
        step.mutable_keys()->set_placement(v1::OUTPUT_PLACEMENT_KEEP);
      },
      grpc::StatusCode::RESOURCE_EXHAUSTED);
}

void AddReferences(Steps& table) {
  const auto reference = [&table](const char* name, int32_t step, v1::OutputName output,
                                  v1::ErrorReason reason, const char* field) {
    table.Add(name, reason, field, [step, output](auto& r) {
      auto& reference = *Second(r).mutable_scores()->mutable_step_output();
      reference.set_step_index(step);
      reference.set_output(output);
    });
  };
  constexpr auto kInvalid = v1::ERROR_REASON_STEP_REFERENCE_INVALID;
  constexpr char kIndex[] = "steps[1].scores.step_output.step_index";
  constexpr char kOutput[] = "steps[1].scores.step_output.output";
  reference("a step that uses itself", 1, v1::OUTPUT_NAME_KEYS, kInvalid, kIndex);
  reference("a reference forward", 2, v1::OUTPUT_NAME_KEYS, kInvalid, kIndex);
  reference("a negative reference", -1, v1::OUTPUT_NAME_KEYS, kInvalid, kIndex);
  reference("a far reference", std::numeric_limits<int32_t>::max(), v1::OUTPUT_NAME_KEYS, kInvalid,
            kIndex);
  reference("an output that the step does not have", 0, v1::OUTPUT_NAME_SLOTS, kInvalid, kOutput);
  reference("an output that is not named", 0, v1::OUTPUT_NAME_UNSPECIFIED,
            v1::ERROR_REASON_FIELD_MISSING, kOutput);
  reference("an unknown output", 0, static_cast<v1::OutputName>(55), v1::ERROR_REASON_ENUM_UNKNOWN,
            kOutput);
  table.Add("an output that was not wanted", kInvalid, "steps[1].lengths.step_output.output",
            [](auto& r) { r.mutable_steps(0)->mutable_block_amax()->clear_block_counts(); });
  table.Add("the first step referring to an earlier one", kInvalid,
            "steps[0].scores.step_output.step_index", [](auto& r) {
              *r.mutable_steps(0)->mutable_block_amax()->mutable_scores() =
                  StepOutputTensor(v1::DATA_TYPE_FLOAT32, 2, 8, 0, v1::OUTPUT_NAME_VALUES);
            });
}

void AddDeclaredShapes(Steps& table) {
  const auto declared = [&table](const char* name, const char* field,
                                 const std::function<void(v1::Tensor&)>& spoil) {
    table.Add(name, v1::ERROR_REASON_STEP_REFERENCE_INVALID, field,
              [&spoil](auto& r) { spoil(*Second(r).mutable_scores()); });
  };
  declared("a reference of another type", "steps[1].scores.data_type",
           [](v1::Tensor& tensor) { tensor.set_data_type(v1::DATA_TYPE_BFLOAT16); });
  declared("a reference of other rows", "steps[1].scores.row_count",
           [](v1::Tensor& tensor) { tensor.set_row_count(3); });
  declared("a reference of other columns", "steps[1].scores.column_count",
           [](v1::Tensor& tensor) { tensor.set_column_count(5); });
  declared("a reference with gaps", "steps[1].scores.row_stride",
           [](v1::Tensor& tensor) { tensor.set_row_stride(9); });
}

}  // namespace

std::vector<MalformedRequest> MalformedSteps() {
  Steps table("IndexerService/Execute", GoodExecute());
  AddStepLists(table);
  AddReferences(table);
  AddDeclaredShapes(table);
  return table.Take();
}

std::vector<MalformedRequest> MalformedAdmin() {
  v1::ProbeOccupancyRequest good_probe;
  good_probe.set_cluster_size(8);
  good_probe.set_blocks_per_multiprocessor(1);
  MalformedTable<v1::ProbeOccupancyRequest> probes("AdminService/ProbeOccupancy", good_probe);
  for (const int32_t size : {0, 3, 32, -8}) {
    probes.Add("cluster size " + std::to_string(size), v1::ERROR_REASON_VALUE_OUT_OF_RANGE,
               "cluster_size", [size](auto& r) { r.set_cluster_size(size); });
  }
  for (const int32_t blocks : {0, 33, -1}) {
    probes.Add("blocks " + std::to_string(blocks), v1::ERROR_REASON_VALUE_OUT_OF_RANGE,
               "blocks_per_multiprocessor",
               [blocks](auto& r) { r.set_blocks_per_multiprocessor(blocks); });
  }
  MalformedTable<v1::DrainRequest> drains("AdminService/Drain", {});
  drains.Add("a negative timeout", v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "timeout_duration.seconds",
             [](auto& r) { r.mutable_timeout_duration()->set_seconds(-1); });
  drains.Add("a timeout past the range of durations", v1::ERROR_REASON_VALUE_OUT_OF_RANGE,
             "timeout_duration.seconds", [](auto& r) {
               r.mutable_timeout_duration()->set_seconds(std::numeric_limits<int64_t>::max());
             });
  drains.Add("a timeout of too many nanoseconds", v1::ERROR_REASON_VALUE_OUT_OF_RANGE,
             "timeout_duration.nanos",
             [](auto& r) { r.mutable_timeout_duration()->set_nanos(1'000'000'000); });
  std::vector<MalformedRequest> all = probes.Take();
  for (MalformedRequest& request : drains.Take()) all.push_back(std::move(request));
  return all;
}

std::vector<MalformedRequest> MalformedBytes() {
  const std::string good = GoodTopK().SerializeAsString();
  const auto malformed = [](const char* name, const char* method, std::string bytes) {
    return MalformedRequest{name, method, std::move(bytes), v1::ERROR_REASON_MESSAGE_MALFORMED, ""};
  };
  return {
      malformed("text", "IndexerService/TopK", "k=5, please"),
      malformed("all ones", "IndexerService/TopK", std::string(100, '\xff')),
      malformed("a message cut in the middle", "IndexerService/TopK",
                good.substr(0, good.size() / 2)),
      malformed("a message cut by one byte", "IndexerService/Execute",
                good.substr(0, good.size() - 1)),
      malformed("a field of 2 GiB that is not there", "IndexerService/PublishCandidates",
                "\x0a\xff\xff\xff\xff\x07"),
      malformed("50 MB that are not there", "IndexerService/BlockAmax",
                std::string("\x0a\x80\xe1\xeb\x17", 5)),
      malformed("field number zero", "IndexerService/ConsumeCandidates", std::string("\0\0", 2)),
      malformed("a group that does not end", "IndexerService/SortCandidateBlocks", "\x0b"),
      malformed("a number of eleven bytes", "AdminService/Drain",
                "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
      // Depth: groups within groups beyond the parser's limit.
      malformed("a thousand nested groups", "IndexerService/PlanTopK", std::string(1000, '\x7b')),
  };
}

std::vector<MalformedRequest> AllMalformedRequests() {
  std::vector<MalformedRequest> all;
  for (auto* part : {MalformedTopK, MalformedPages, MalformedPlans, MalformedBlocks,
                     MalformedChains, MalformedSteps, MalformedAdmin, MalformedBytes}) {
    for (MalformedRequest& request : part()) all.push_back(std::move(request));
  }
  return all;
}

}  // namespace winnow::testing
