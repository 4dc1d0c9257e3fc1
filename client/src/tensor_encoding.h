// Copies the matrices of a request into its message.

#ifndef WINNOW_CLIENT_SRC_TENSOR_ENCODING_H_
#define WINNOW_CLIENT_SRC_TENSOR_ENCODING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "winnow/client/tensor.h"
#include "winnow/v1/tensor.pb.h"

namespace winnow::client {

// Serves one request: it keeps the first error and counts the bytes, because a message of protobuf
// holds less than 2 GiB. Only what makes a view unreadable is checked here; what it means is the
// server's to judge. Rows are sent without the gaps of their stride.
class TensorEncoder {
 public:
  // Stands before every field of the errors, e.g. "steps[2].".
  void SetFieldPrefix(std::string prefix) { prefix_ = std::move(prefix); }

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

  // InvalidArgument when a view cannot be read, ResourceExhausted (MESSAGE_TOO_LARGE) when together
  // they cannot be sent.
  const absl::Status& status() const { return status_; }

 private:
  void Encode(absl::string_view field, const TensorRef& tensor, v1::Tensor* out);
  void Encode(absl::string_view field, const MatrixView& view, v1::Tensor* out);
  void Encode(const PageTableView& pages, v1::PageTable* out);
  // Elements of `view`, or the reason why it cannot be read.
  absl::Status CheckView(absl::string_view field, const MatrixView& view, int64_t& bytes) const;

  std::string prefix_;
  absl::Status status_;
  int64_t total_bytes_ = 0;
};

// Leaves the target absent for kNone.
template <typename Message>
void AddTarget(Placement placement, Message* message,
               v1::OutputTarget* (Message::*mutable_target)()) {
  if (placement == Placement::kNone) return;
  (message->*mutable_target)()->set_placement(static_cast<v1::OutputPlacement>(placement));
}

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_TENSOR_ENCODING_H_
