#include "server/rpc/message_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grpcpp/support/slice.h"
#include "tests/testing/requests.h"

namespace winnow::server {
namespace {

// The bytes as a transport delivers them: cut at `cut`.
grpc::ByteBuffer InTwoSlices(const std::string& bytes, size_t cut) {
  const std::vector<grpc::Slice> slices = {grpc::Slice(bytes.substr(0, cut)),
                                           grpc::Slice(bytes.substr(cut))};
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST(MessageBytesTest, AMessageIsTheSameWhereverItsBytesAreCut) {
  const v1::ConsumeCandidatesRequest request = testing::GoodConsume();
  const std::string bytes = request.SerializeAsString();
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    grpc::ByteBuffer buffer = InTwoSlices(bytes, cut);
    v1::ConsumeCandidatesRequest parsed;
    ASSERT_TRUE(ParseMessage(buffer, 1 << 20, parsed).ok()) << cut;
    ASSERT_EQ(parsed.SerializeAsString(), bytes) << cut;
  }
}

// gRPC's own reader ends the process on some of these.
TEST(MessageBytesTest, MalformedBytesInTwoSlicesAreRefusedOrParsed) {
  const std::string bytes = testing::GoodConsume().SerializeAsString();
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0x00, 0x0a, 0x14, 0x29, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      for (size_t cut = 0; cut <= bytes.size(); cut += 3) {
        grpc::ByteBuffer buffer = InTwoSlices(changed, cut);
        v1::ConsumeCandidatesRequest parsed;
        const absl::Status status = ParseMessage(buffer, 1 << 20, parsed);
        if (status.ok()) continue;
        ++refused;
        ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace winnow::server
