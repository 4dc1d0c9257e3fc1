// Why no server answers at a target, in words that say what to do.

#ifndef WINNOW_CLIENT_CLI_UNREACHABLE_H_
#define WINNOW_CLIENT_CLI_UNREACHABLE_H_

#include <string>

namespace winnow::cli {

// One line about `target` ("unix:PATH" or "HOST:PORT"), at which a call has just failed. Looks at
// the socket of a Unix target to tell apart: nothing is there, something that is no socket, a
// socket that this user may not use, one on which nobody listens any more.
std::string WhyUnreachable(const std::string& target);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_UNREACHABLE_H_
