// Where a client looks for a server, and a server listens, when nobody says otherwise.

#ifndef WINNOW_CLIENT_DEFAULT_TARGET_H_
#define WINNOW_CLIENT_DEFAULT_TARGET_H_

#include <string>

namespace winnow::client {

// $WINNOW_TARGET when it is set and not empty, else DefaultSocketTarget().
std::string DefaultTarget();

// "unix:$XDG_RUNTIME_DIR/winnow.sock" when that variable is an absolute path, else
// "unix:/tmp/winnow-UID/winnow.sock" with the numeric id of the process's user. The
// server listens here by default.
std::string DefaultSocketTarget();

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_DEFAULT_TARGET_H_
