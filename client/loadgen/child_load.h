// A second process of the same load, for what only the end or the standstill of a whole client
// shows: its memory, sockets and streams stay as they are at that instant.

#ifndef WINNOW_CLIENT_LOADGEN_CHILD_LOAD_H_
#define WINNOW_CLIENT_LOADGEN_CHILD_LOAD_H_

#include <sys/types.h>

#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace winnow::stress {

// Runs this program with `arguments` until it is destroyed. The child ends with this process.
class ChildLoad {
 public:
  enum class Torment {
    kKill,  // SIGKILL 0.5 to 3 s after each start
    kStop,  // SIGSTOP for 0.2 to 2 s, then 50 to 200 ms of life
  };
  ChildLoad(std::vector<std::string> arguments, Torment torment, uint64_t seed);
  ~ChildLoad();
  ChildLoad(const ChildLoad&) = delete;
  ChildLoad& operator=(const ChildLoad&) = delete;

  struct Counts {
    int64_t torments = 0;  // kills or stops
    int64_t failures = 0;  // children that did not start, or ended by themselves
  };
  Counts counts() const;

 private:
  void Spawn();
  void Run();
  // Whether there is time for it before the end.
  bool Wait(int64_t low_millis, int64_t high_millis);
  void CountTorment();
  bool EndedByItself();

  const std::vector<std::string> arguments_;
  const Torment torment_;
  std::mt19937_64 random_;  // of the thread
  pid_t child_ = -1;        // of the thread
  mutable absl::Mutex mu_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  Counts counts_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_CHILD_LOAD_H_
