// The Unix socket beside the server's that carries file descriptors (SCM_RIGHTS), which gRPC
// cannot.
//
// Protocol, SOCK_SEQPACKET: a client sends one packet and receives one. With the 32 digits of its
// lease id and one descriptor attached, the answer is 'T' and the 32 digits of the import token.
// With the lease id and the 32 digits of an export token, and no descriptor, it is 'D' with the
// descriptor attached. Or it is 'E', the reason's name, a space and a message. The connection may
// be used again. Anything else ends the connection.

#ifndef WINNOW_SERVER_RESOURCES_DESCRIPTOR_SOCKET_H_
#define WINNOW_SERVER_RESOURCES_DESCRIPTOR_SOCKET_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/resources/descriptor_inbox.h"
#include "server/resources/shared_memory.h"

namespace winnow::server {

// One thread serves all connections; none of them can hold it up. Destroying it closes the socket,
// joins the thread and removes the file.
class DescriptorSocket {
 public:
  struct Options {
    std::string path;
    mode_t mode = 0660;
    std::optional<gid_t> group;  // absent: the process's
    int max_connections = 64;    // one more ends the oldest
  };
  // Whether the peer with these credentials may use the lease. Called on the socket's thread.
  using LeaseCheck = std::function<absl::Status(absl::string_view lease_id, uid_t peer)>;

  // Listens at once. `inbox` outlives the socket. InvalidArgument for a path that does not fit a
  // socket address; Unavailable when it cannot be bound.
  static absl::StatusOr<std::unique_ptr<DescriptorSocket>> Listen(Options options,
                                                                  DescriptorInbox* inbox,
                                                                  LeaseCheck check);
  ~DescriptorSocket();

  const std::string& path() const { return options_.path; }

 private:
  DescriptorSocket(Options options, DescriptorInbox* inbox, LeaseCheck check, UniqueFd listener,
                   UniqueFd wake_reader, UniqueFd wake_writer);

  void Run();
  void Accept();
  // False when the connection is to be closed.
  bool Serve(int connection);

  const Options options_;
  DescriptorInbox* const inbox_;
  const LeaseCheck check_;
  const UniqueFd listener_;
  const UniqueFd wake_reader_;
  UniqueFd wake_writer_;               // closed to end the thread
  std::vector<UniqueFd> connections_;  // of the thread
  std::thread thread_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_DESCRIPTOR_SOCKET_H_
