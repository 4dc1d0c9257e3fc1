// A data race on purpose: the test that runs it passes when ThreadSanitizer reports it, so that
// silence elsewhere means something. The mutex is there to show that a lock of another object does
// not hide it.

#include <cstdio>
#include <thread>

#include "absl/synchronization/mutex.h"

int main() {
  absl::Mutex mutex;
  int unguarded = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) ++unguarded;
  });
  for (int i = 0; i < 1000; ++i) {
    absl::MutexLock lock(&mutex);
    ++unguarded;
  }
  other.join();
  std::printf("%d\n", unguarded);
}
