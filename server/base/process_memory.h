// How much memory this process holds.

#ifndef WINNOW_SERVER_BASE_PROCESS_MEMORY_H_
#define WINNOW_SERVER_BASE_PROCESS_MEMORY_H_

#include <cstdint>

namespace winnow::server {

// Resident memory in bytes; 0 where the system does not say.
int64_t ResidentBytes();

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BASE_PROCESS_MEMORY_H_
