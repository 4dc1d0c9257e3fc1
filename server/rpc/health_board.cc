#include "server/rpc/health_board.h"

#include <utility>

namespace winnow::server {
namespace {

std::set<std::string> WithServer(std::vector<std::string> services) {
  services.emplace_back();
  return std::set<std::string>(services.begin(), services.end());
}

}  // namespace

HealthBoard::HealthBoard(std::vector<std::string> services)
    : services_(WithServer(std::move(services))) {}

bool HealthBoard::serving() const {
  absl::MutexLock lock(&mu_);
  return serving_;
}

void HealthBoard::SetServing(bool serving) {
  absl::MutexLock lock(&mu_);
  if (serving == serving_) return;
  serving_ = serving;
  for (Watcher* watcher : watchers_) watcher->OnState(serving);
}

void HealthBoard::Close() {
  absl::MutexLock lock(&mu_);
  closed_ = true;
  for (Watcher* watcher : watchers_) watcher->OnClose();
}

void HealthBoard::Add(Watcher* watcher) {
  absl::MutexLock lock(&mu_);
  watchers_.insert(watcher);
  watcher->OnState(serving_);
  if (closed_) watcher->OnClose();
}

void HealthBoard::Remove(Watcher* watcher) {
  absl::MutexLock lock(&mu_);
  watchers_.erase(watcher);
}

}  // namespace winnow::server
