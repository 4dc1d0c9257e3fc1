// Why a server on the network does not answer: what gRPC says of a connection that fails is the
// same for many causes.

#ifndef WINNOW_CLIENT_DIAGNOSIS_H_
#define WINNOW_CLIENT_DIAGNOSIS_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "winnow/client/options.h"

namespace winnow::client {

// Connects once, by itself, as a client of `options` would, and says what stands in the way and
// what to do about it. For after a call that failed with IsUnreachable: it blocks, for about
// `patience` at most and the time of a name's lookup.
//
//   if (IsUnreachable(status)) std::cerr << DiagnoseConnection(options).message();
//
// Ok when nothing is wrong as far as can be seen, and for Unix sockets, which are not looked at.
// Unavailable, without an ErrorInfo: nobody listens, the host is not known, one side speaks TLS and
// the other does not, the server's certificate is of another authority, has expired or has another
// name, the server refuses this client's certificate or wants one. InvalidArgument: the options
// cannot be used. Thread safety: may be called from any thread.
absl::Status DiagnoseConnection(const ClientOptions& options,
                                absl::Duration patience = absl::Seconds(2));

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_DIAGNOSIS_H_
