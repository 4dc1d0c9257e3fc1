// Survives SIGBUS in registered ranges of memory. Reading a mapping past the end of its file raises
// SIGBUS; a peer that truncates shared memory could so end the server. The handler maps zero pages
// over the rest of the range and marks it broken; the access goes on with zeros, and whoever asks
// later learns of it. SIGBUS elsewhere ends the process as ever.

#ifndef WINNOW_SERVER_RESOURCES_BUS_ERROR_GUARD_H_
#define WINNOW_SERVER_RESOURCES_BUS_ERROR_GUARD_H_

#include <cstddef>
#include <cstdint>

namespace winnow::server {

inline constexpr int kMaxBusErrorGuards = 65536;

// Registers a page-aligned range; the first call installs the handler. Returns a number for the
// calls below, -1 when all are taken. Thread safety: all three may be called from several threads.
int GuardBusErrors(std::byte* base, int64_t size_bytes);

// Whether a bus error was caught in the range since it was registered.
bool BusErrorCaught(int guard);

// Forgets the range; call before unmapping it.
void UnguardBusErrors(int guard);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_BUS_ERROR_GUARD_H_
