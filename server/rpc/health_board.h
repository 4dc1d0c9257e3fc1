// Which services accept requests, and who wants to hear of changes. What Health tells its callers.

#ifndef WINNOW_SERVER_RPC_HEALTH_BOARD_H_
#define WINNOW_SERVER_RPC_HEALTH_BOARD_H_

#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace winnow::server {

// Thread safety: safe to call from several threads.
class HealthBoard {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // The state changed, or is told for the first time; or the server ends and no more will come.
    // Called with the board's lock held: must not call the board.
    virtual void OnState(bool serving) = 0;
    virtual void OnClose() = 0;
  };

  // `services` are the full names that it knows, besides "" for the server as a whole.
  explicit HealthBoard(std::vector<std::string> services);

  bool Knows(const std::string& service) const { return services_.count(service) > 0; }
  bool serving() const;

  // Tells every watcher unless nothing changes.
  void SetServing(bool serving);
  // Tells every watcher, also those to come, that no more will come.
  void Close();

  // The watcher hears of the current state before Add returns. It stays until Remove.
  void Add(Watcher* watcher);
  void Remove(Watcher* watcher);

 private:
  const std::set<std::string> services_;
  mutable absl::Mutex mu_;
  bool serving_ ABSL_GUARDED_BY(mu_) = true;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_HEALTH_BOARD_H_
