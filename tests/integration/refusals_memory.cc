// Buffers: sizes, ranges, chunks, descriptors.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "server/resources/shared_memory.h"
#include "tests/integration/refusal_table.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using grpc::StatusCode;

constexpr auto kOutOfBounds = v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS;
constexpr auto kOutOfRange = v1::ERROR_REASON_VALUE_OUT_OF_RANGE;

void AddAllocations(std::vector<Refusal>& all) {
  RefusalTable<v1::AllocateBufferRequest> table("MemoryService/AllocateBuffer",
                                                [](RefusalScene& scene) {
                                                  v1::AllocateBufferRequest request;
                                                  request.set_lease_id(scene.mine().id());
                                                  request.set_size_bytes(64);
                                                  return request;
                                                });
  for (const int64_t bytes :
       {int64_t{0}, int64_t{-1}, int64_t{(1 << 20) + 1}, INT64_MAX, INT64_MAX - 255, INT64_MIN}) {
    table.Add(std::to_string(bytes) + " bytes",
              {kOutOfRange, "size_bytes", std::to_string(bytes), "1 to 1048576"},
              [bytes](RefusalScene&, auto& request) { request.set_size_bytes(bytes); });
  }
  table.Add("more than the lease has left",
            {v1::ERROR_REASON_QUOTA_EXCEEDED, "", "8624 + 1048576",
             "1048576, the bytes of the lease", StatusCode::RESOURCE_EXHAUSTED},
            [](RefusalScene&, auto& request) { request.set_size_bytes(1 << 20); });
  table.Add("no lease",
            {v1::ERROR_REASON_LEASE_NOT_FOUND, "lease_id", "", "", StatusCode::NOT_FOUND},
            [](RefusalScene&, auto& request) { request.clear_lease_id(); });
  table.Add("a guessed lease",
            {v1::ERROR_REASON_LEASE_NOT_FOUND, "lease_id", "", "", StatusCode::NOT_FOUND},
            [](RefusalScene&, auto& request) { request.set_lease_id(std::string(32, '7')); });
  table.Add("a lease id of 64 KiB",
            {v1::ERROR_REASON_LEASE_NOT_FOUND, "lease_id", "", "", StatusCode::NOT_FOUND},
            [](RefusalScene&, auto& request) { request.set_lease_id(std::string(65536, 'a')); });
  table.Add(
      "a lease that ended",
      {v1::ERROR_REASON_LEASE_ENDED, "lease_id", "", "", StatusCode::FAILED_PRECONDITION},
      [](RefusalScene& scene, auto& request) { request.set_lease_id(scene.ended_lease_id()); });
  table.MoveTo(all);
}

// A client stream of chunks, the first of which is good when there are two.
void AddWrite(std::vector<Refusal>& all, const std::string& name, Says says,
              std::function<std::vector<v1::WriteBufferRequest>(RefusalScene&)> chunks) {
  all.push_back({"MemoryService/WriteBuffer: " + name, std::move(says),
                 [chunks = std::move(chunks)](RefusalScene& scene) {
                   const auto context = Patient();
                   v1::WriteBufferResponse response;
                   const auto writer = scene.mine().memory().WriteBuffer(context.get(), &response);
                   for (const v1::WriteBufferRequest& chunk : chunks(scene)) {
                     if (!writer->Write(chunk)) break;
                   }
                   writer->WritesDone();
                   return OutcomeOf(writer->Finish());
                 }});
}

v1::WriteBufferRequest Chunk(RefusalScene& scene, int64_t offset, size_t bytes) {
  v1::WriteBufferRequest chunk;
  chunk.set_lease_id(scene.mine().id());
  *chunk.mutable_buffer() = scene.results;
  chunk.set_offset_bytes(offset);
  chunk.set_data(std::string(bytes, '\0'));
  return chunk;
}

void AddWrites(std::vector<Refusal>& all) {
  const auto range = [&](int64_t offset, size_t bytes, const Says& says) {
    AddWrite(
        all, std::to_string(bytes) + " bytes at " + std::to_string(offset), says,
        [offset, bytes](RefusalScene& scene) { return std::vector{Chunk(scene, offset, bytes)}; });
  };
  const std::string limit = "0 to 256, the buffer's size";
  range(-1, 4, {kOutOfBounds, "offset_bytes", "-1", limit});
  range(257, 0, {kOutOfBounds, "offset_bytes", "257", limit});
  range(INT64_MAX, 4, {kOutOfBounds, "offset_bytes", std::to_string(INT64_MAX), limit});
  range(INT64_MIN, 4, {kOutOfBounds, "offset_bytes", std::to_string(INT64_MIN), limit});
  range(253, 4, {kOutOfBounds, "data", "4", "0 to 3 from offset 253"});
  range(256, 1, {kOutOfBounds, "data", "1", "0 to 0 from offset 256"});
  range(0, (4 << 20) + 1,
        {v1::ERROR_REASON_MESSAGE_TOO_LARGE, "data", "4194305", "up to 4194304 bytes a message"});
  AddWrite(all, "no chunk at all",
           {v1::ERROR_REASON_FIELD_MISSING, "buffer", "", "the first message names it"},
           [](RefusalScene&) { return std::vector<v1::WriteBufferRequest>(); });
  AddWrite(all, "a second chunk before the buffer", {kOutOfBounds, "offset_bytes", "-8", limit},
           [](RefusalScene& scene) {
             return std::vector{Chunk(scene, 192, 8), Chunk(scene, -8, 8)};
           });
  AddWrite(all, "a second chunk past the end",
           {kOutOfBounds, "data", "64", "0 to 56 from offset 200"}, [](RefusalScene& scene) {
             return std::vector{Chunk(scene, 192, 8), Chunk(scene, 200, 64)};
           });
  AddWrite(all, "read-only memory", {v1::ERROR_REASON_FIELDS_CONFLICT, "buffer", "", ""},
           [](RefusalScene& scene) {
             auto chunk = Chunk(scene, 0, 4);
             *chunk.mutable_buffer() = scene.read_only;
             return std::vector{chunk};
           });
}

void AddReads(std::vector<Refusal>& all) {
  const auto add = [&](int64_t offset, int64_t bytes, Says says) {
    all.push_back({"MemoryService/ReadBuffer: " + std::to_string(bytes) + " bytes at " +
                       std::to_string(offset),
                   std::move(says), [offset, bytes](RefusalScene& scene) {
                     v1::ReadBufferRequest request;
                     request.set_lease_id(scene.mine().id());
                     *request.mutable_buffer() = scene.results;
                     request.set_offset_bytes(offset);
                     request.set_size_bytes(bytes);
                     const auto context = Patient();
                     const auto reader = scene.mine().memory().ReadBuffer(context.get(), request);
                     v1::ReadBufferResponse chunk;
                     while (reader->Read(&chunk)) continue;
                     return OutcomeOf(reader->Finish());
                   }});
  };
  const std::string limit = "0 to 256, the buffer's size";
  add(-1, 4, {kOutOfBounds, "offset_bytes", "-1", limit});
  add(257, 4, {kOutOfBounds, "offset_bytes", "257", limit});
  add(0, -1, {kOutOfBounds, "size_bytes", "-1", "0 to 256 from offset 0"});
  add(8, 249, {kOutOfBounds, "size_bytes", "249", "0 to 248 from offset 8"});
  add(8, INT64_MAX,
      {kOutOfBounds, "size_bytes", std::to_string(INT64_MAX), "0 to 248 from offset 8"});
}

// A descriptor of the wrong kind or size. `make` opens it.
void AddImport(
    std::vector<Refusal>& all, const std::string& name, Says says, std::function<int()> make,
    std::function<void(v1::ImportBufferRequest&)> spoil = [](auto&) {}) {
  all.push_back({"MemoryService/ImportBuffer: " + name, std::move(says),
                 [make = std::move(make), spoil = std::move(spoil)](RefusalScene& scene) {
                   const server::UniqueFd descriptor(make());
                   v1::ImportBufferRequest request;
                   request.set_lease_id(scene.mine().id());
                   request.set_import_token(scene.mine().HandOver(descriptor.get()));
                   request.set_size_bytes(4096);
                   spoil(request);
                   v1::ImportBufferResponse response;
                   return OutcomeOf(
                       scene.mine().memory().ImportBuffer(Patient().get(), request, &response));
                 }});
}

int MemoryOf(int64_t bytes) {
  const int descriptor = memfd_create("import", MFD_CLOEXEC);
  return ftruncate(descriptor, bytes) == 0 ? descriptor : -1;
}

void AddImports(std::vector<Refusal>& all) {
  const Says no_memory{v1::ERROR_REASON_FIELDS_CONFLICT, "import_token", "", ""};
  AddImport(all, "a pipe", no_memory, [] {
    int ends[2] = {};
    if (pipe(ends) != 0) return -1;
    close(ends[1]);
    return ends[0];
  });
  AddImport(all, "a device", no_memory, [] { return open("/dev/zero", O_RDWR | O_CLOEXEC); });
  AddImport(all, "a folder", no_memory, [] { return open("/", O_RDONLY | O_CLOEXEC); });
  AddImport(
      all, "empty memory",
      {kOutOfBounds, "size_bytes", "4096", "1 to 0, what the shared memory holds past the offset"},
      [] { return MemoryOf(0); });
  AddImport(all, "memory smaller than asked for",
            {kOutOfBounds, "size_bytes", "4096",
             "1 to 4095, what the shared memory holds past the offset"},
            [] { return MemoryOf(4095); });
}

void AddImportRanges(std::vector<Refusal>& all) {
  const auto page = [] { return MemoryOf(8192); };
  AddImport(all, "an offset within a page",
            {v1::ERROR_REASON_ALIGNMENT_INVALID, "offset_bytes", "100", "multiples of 4096 from 0"},
            page, [](auto& request) { request.set_offset_bytes(100); });
  AddImport(
      all, "a negative offset",
      {v1::ERROR_REASON_ALIGNMENT_INVALID, "offset_bytes", "-4096", "multiples of 4096 from 0"},
      page, [](auto& request) { request.set_offset_bytes(-4096); });
  AddImport(all, "an offset past the memory",
            {kOutOfBounds, "offset_bytes", "12288", "0 to 8192, the size of the shared memory"},
            page, [](auto& request) { request.set_offset_bytes(12288); });
  AddImport(all, "a range past the memory",
            {kOutOfBounds, "size_bytes", "8192",
             "1 to 4096, what the shared memory holds past the offset"},
            page, [](auto& request) {
              request.set_offset_bytes(4096);
              request.set_size_bytes(8192);
            });
  for (const int64_t bytes : {int64_t{0}, int64_t{-4096}, INT64_MAX}) {
    AddImport(all, std::to_string(bytes) + " bytes",
              {kOutOfBounds, "size_bytes", std::to_string(bytes), "1 to 1048576"}, page,
              [bytes](auto& request) { request.set_size_bytes(bytes); });
  }
}

void AddImportRights(std::vector<Refusal>& all) {
  const auto page = [] { return MemoryOf(8192); };
  AddImport(all, "no token",
            {v1::ERROR_REASON_RESOURCE_NOT_FOUND, "import_token", "", "", StatusCode::NOT_FOUND},
            page, [](auto& request) { request.clear_import_token(); });
  AddImport(all, "a guessed token",
            {v1::ERROR_REASON_RESOURCE_NOT_FOUND, "import_token", "", "", StatusCode::NOT_FOUND},
            page, [](auto& request) { request.set_import_token(std::string(32, '1')); });
  AddImport(
      all, "memory that may not be written",
      {v1::ERROR_REASON_PERMISSION_DENIED, "read_only", "", "", StatusCode::PERMISSION_DENIED}, [] {
        const server::UniqueFd memory(MemoryOf(4096));
        const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
        return open(path.c_str(), O_RDONLY | O_CLOEXEC);
      });
}

}  // namespace

std::vector<Refusal> MemoryRefusals() {
  std::vector<Refusal> all;
  AddAllocations(all);
  AddWrites(all);
  AddReads(all);
  AddImports(all);
  AddImportRanges(all);
  AddImportRights(all);
  return all;
}

}  // namespace winnow::testing
