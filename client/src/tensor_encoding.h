// Copies the matrices of a request into its message.

#ifndef WINNOW_CLIENT_SRC_TENSOR_ENCODING_H_
#define WINNOW_CLIENT_SRC_TENSOR_ENCODING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/src/resource_bindings.h"
#include "winnow/client/tensor.h"
#include "winnow/v1/tensor.pb.h"

namespace winnow::client {

// What an output will be; for the bytes of a buffer that it fills.
struct OutputShape {
  DType dtype = DType::kInt32;
  int64_t rows = 0;
  int64_t columns = 0;
};

// Serves one request: it keeps the first error and counts the bytes, because a message of protobuf
// holds less than 2 GiB. Only what makes a view unreadable is checked here; what it means is the
// server's to judge. Rows are sent without the gaps of their stride.
class TensorEncoder {
 public:
  // Stands before every field of the errors, e.g. "steps[2].".
  void SetFieldPrefix(std::string prefix) { prefix_ = std::move(prefix); }

  // Where the resources that the request names are noted. Without it they are refused.
  void SetBindings(ResourceBindings* bindings) { bindings_ = bindings; }

  // `Message::mutable_field` is called only when there is something to put there: an absent tensor
  // stays an absent field.
  template <typename Message>
  void Add(absl::string_view field, const TensorRef& tensor, Message* message,
           v1::Tensor* (Message::*mutable_field)()) {
    if (tensor.is_set()) Encode(field, tensor, (message->*mutable_field)());
  }
  template <typename Message>
  void Add(const std::optional<PageTableView>& pages, Message* message) {
    if (pages.has_value()) Encode(*pages, message->mutable_page_table());
  }

  // A resource that is no tensor; not set: nothing.
  template <typename Message>
  void Add(absl::string_view field, const ResourceRef& resource, ResourceKind kind,
           Message* message, v1::ResourceId* (Message::*mutable_field)()) {
    if (resource.is_set())
      Bind({.ref = resource, .kind = kind}, field, (message->*mutable_field)());
  }
  // Leaves the target absent for kNone. `shape` is what the output will have.
  template <typename Message>
  void Add(absl::string_view field, const Output& output, const OutputShape& shape,
           Message* message, v1::OutputTarget* (Message::*mutable_target)()) {
    if (output.placement() == Placement::kNone) return;
    Encode(field, output, shape, (message->*mutable_target)());
  }

  // InvalidArgument when a view cannot be read, ResourceExhausted (MESSAGE_TOO_LARGE) when together
  // they cannot be sent.
  const absl::Status& status() const { return status_; }

 private:
  void Encode(absl::string_view field, const TensorRef& tensor, v1::Tensor* out);
  void Encode(absl::string_view field, const MatrixView& view, v1::Tensor* out);
  void Encode(absl::string_view field, const BufferMatrix& buffer, v1::Tensor* out);
  void Encode(absl::string_view field, const Output& output, const OutputShape& shape,
              v1::OutputTarget* out);
  void Encode(const PageTableView& pages, v1::PageTable* out);
  // Notes the use of a resource whose id belongs in `id`.
  void Bind(ResourceUse use, absl::string_view field, v1::ResourceId* id);
  // Elements of `view`, or the reason why it cannot be read.
  absl::Status CheckView(absl::string_view field, const MatrixView& view, int64_t& bytes) const;

  std::string prefix_;
  absl::Status status_;
  int64_t total_bytes_ = 0;
  ResourceBindings* bindings_ = nullptr;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_TENSOR_ENCODING_H_
