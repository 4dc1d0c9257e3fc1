// Numbers that nobody can guess, from the kernel.

#ifndef WINNOW_SERVER_RESOURCES_RANDOM_ID_H_
#define WINNOW_SERVER_RESOURCES_RANDOM_ID_H_

#include <cstdint>
#include <string>

namespace winnow::server {

// 32 lower-case hexadecimal digits, 128 random bits.
std::string RandomHexId();

// At least 1, below 2^40.
int64_t RandomGeneration();

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_RANDOM_ID_H_
