#include "server/rpc/message_bytes.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "grpcpp/support/slice.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

absl::Status TooLarge(absl::string_view what, int64_t bytes, int64_t limit) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("the ", what, " has ", bytes, " bytes; this server accepts ", limit),
      {.reason = ErrorReason::kMessageTooLarge,
       .value = absl::StrCat(bytes),
       .limit = absl::StrCat("at most ", limit)});
}

// Reads slices one after another. gRPC's own reader ends the process when the parser, having met
// malformed bytes, gives back more of a slice than there is.
class SliceStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit SliceStream(std::vector<grpc::Slice> slices) : slices_(std::move(slices)) {}

  bool Next(const void** data, int* size) override {
    for (; index_ < slices_.size(); ++index_, offset_ = 0) {
      const grpc::Slice& slice = slices_[index_];
      if (offset_ == slice.size()) continue;
      *data = slice.begin() + offset_;
      *size = static_cast<int>(slice.size() - offset_);
      read_ += *size;
      offset_ = slice.size();
      return true;
    }
    return false;
  }

  void BackUp(int count) override {
    const auto most = static_cast<int64_t>(offset_);
    const int64_t returned = std::clamp<int64_t>(count, 0, most);
    offset_ -= static_cast<size_t>(returned);
    read_ -= returned;
  }

  bool Skip(int count) override {
    const void* data = nullptr;
    int size = 0;
    while (count > 0 && Next(&data, &size)) {
      BackUp(size - std::min(size, count));
      count -= std::min(size, count);
    }
    return count == 0;
  }

  int64_t ByteCount() const override { return read_; }

 private:
  const std::vector<grpc::Slice> slices_;
  size_t index_ = 0;   // of the slice that Next gave last
  size_t offset_ = 0;  // what of it is read
  int64_t read_ = 0;
};

bool Parse(grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message) {
  const auto bytes = static_cast<int>(buffer.Length());
  grpc::Slice slice;
  if (buffer.TrySingleSlice(&slice).ok()) return message.ParseFromArray(slice.begin(), bytes);
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return false;
  SliceStream stream(std::move(slices));
  return message.ParseFromBoundedZeroCopyStream(&stream, bytes);
}

}  // namespace

absl::Status ParseMessage(grpc::ByteBuffer& buffer, int64_t max_bytes,
                          google::protobuf::MessageLite& message) {
  const auto bytes = static_cast<int64_t>(buffer.Length());
  if (bytes > max_bytes) return TooLarge("request", bytes, max_bytes);
  const bool parsed = Parse(buffer, message);
  buffer.Clear();
  if (parsed) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat("the ", CountText(bytes, "byte"), " of the request are no ",
                                message.GetTypeName(), "; send one in the protobuf wire format"),
                   {.reason = ErrorReason::kMessageMalformed,
                    .value = absl::StrCat(bytes),
                    .limit = message.GetTypeName()});
}

absl::Status SerializeMessage(const google::protobuf::MessageLite& message,
                              grpc::ByteBuffer& buffer) {
  const size_t bytes = message.ByteSizeLong();
  constexpr int64_t kMaxBytes = std::numeric_limits<int32_t>::max();
  if (static_cast<int64_t>(bytes) > kMaxBytes) {
    return TooLarge("reply", static_cast<int64_t>(bytes), kMaxBytes);
  }
  grpc::Slice slice(bytes);
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  buffer = grpc::ByteBuffer(&slice, 1);
  return absl::OkStatus();
}

}  // namespace winnow::server
