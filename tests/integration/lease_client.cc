// A client that takes what a lease can own and works until it is killed: lease_kill_test.cc and
// lease_close_test.cc do that. With a second argument its lease has a grace of so many seconds, and
// it prints the lease's id.

#include <cstdio>
#include <cstdlib>

#include "grpcpp/create_channel.h"
#include "tests/integration/lease_session.h"
#include "tests/testing/requests.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  using namespace winnow::v1;  // NOLINT(google-build-using-namespace): a program of one function
  OpenLeaseRequest open;
  if (argc == 3) open.mutable_resume_grace_duration()->set_seconds(std::atoi(argv[2]));
  winnow::testing::LeaseSession session(
      grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()), open);
  if (!session.opened()) return 3;
  constexpr int kColumns = 65536;
  ResourceId buffer;
  if (!session.Allocate(4 * kColumns * sizeof(float), buffer).ok()) return 4;
  CreatePageTableRequest create;
  create.set_lease_id(session.id());
  create.set_row_count(4);
  create.set_column_count(1024);
  create.set_page_size(64);
  CreatePageTableResponse table;
  grpc::ClientContext create_context;
  if (!session.memory().CreatePageTable(&create_context, create, &table).ok()) return 5;
  TopKRequest request;
  request.set_lease_id(session.id());
  auto& step = *request.mutable_step();
  *step.mutable_scores() = winnow::testing::BufferTensor(DATA_TYPE_FLOAT32, 4, kColumns, buffer);
  *step.mutable_lengths() = winnow::testing::Int32Vector({kColumns, kColumns, kColumns, kColumns});
  step.set_k(512);
  step.mutable_indices()->set_placement(OUTPUT_PLACEMENT_INLINE);
  if (argc == 3) {
    std::printf("%s\n", session.id().c_str());
    std::fflush(stdout);
  }
  // Bounded, should nobody kill it.
  for (int call = 0; call < 100'000; ++call) {
    if (!session.Write(buffer, 0, std::string(4096, static_cast<char>(call))).ok()) return 6;
    grpc::ClientContext context;
    TopKResponse response;
    if (!session.indexer().TopK(&context, request, &response).ok()) return 7;
  }
  return 0;
}
