// Passes file descriptors to and from the server's descriptor socket, beside its Unix socket, for
// calls that the library does not make itself: imports and exports of GPU memory. SharedMemory and
// Lease::ShareMemory need none of it.
//
// Thread safety: all functions may be called from several threads.

#ifndef WINNOW_CLIENT_DESCRIPTOR_PASSING_H_
#define WINNOW_CLIENT_DESCRIPTOR_PASSING_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "winnow/client/unique_descriptor.h"

namespace winnow::client {

// Whether a socket at `path` can only be the server's: its folder belongs to `user` or to root, and
// nobody else may write there (a folder with the sticky bit keeps what others made, but not what
// they make first). FailedPrecondition (PERMISSION_DENIED) says what is wrong.
absl::Status CheckSocketFolder(const std::string& path, uid_t user);

// Where this process finds the descriptor socket that the server calls `server_path`
// (LeaseOpened.descriptor_socket_path). A container may have the folder of the server's sockets
// under another path: the socket then lies beside the one that `target` ("unix:PATH") names, if
// that has the name that it has for the server. `server_path` where nobody listens there, where
// this user may not look while a server answers at `server_path`, and for other targets. Whether it
// is that server's is known when it is used: another one refuses descriptors with LEASE_NOT_FOUND.
std::string DescriptorSocketPath(const std::string& target, const std::string& server_path);

// Sends `descriptor` for `lease_id` and returns the import token. Blocks for at most `timeout`.
// Unavailable when the socket does not answer; Unimplemented (NOT_IN_BUILD) when the server has
// none (empty path); the server's refusal, with its reason, otherwise.
absl::StatusOr<std::string> SendDescriptor(const std::string& socket_path,
                                           const std::string& lease_id, int descriptor,
                                           absl::Duration timeout);

// The descriptor that an export token of the lease stands for. Errors as SendDescriptor.
absl::StatusOr<UniqueDescriptor> FetchDescriptor(const std::string& socket_path,
                                                 const std::string& lease_id,
                                                 const std::string& export_token,
                                                 absl::Duration timeout);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_DESCRIPTOR_PASSING_H_
