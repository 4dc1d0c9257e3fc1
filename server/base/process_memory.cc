#include "server/base/process_memory.h"

#include <unistd.h>

#include <cstdio>

namespace winnow::server {

int64_t ResidentBytes() {
  long total_pages = 0;
  long resident_pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &total_pages, &resident_pages) != 2) resident_pages = 0;
  std::fclose(file);
  return int64_t{resident_pages} * sysconf(_SC_PAGESIZE);
}

}  // namespace winnow::server
