#include "server/resources/bus_error_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace winnow::server {
namespace {

// Read by the signal handler, so only lock-free atomics. `base` is published last and withdrawn
// first.
struct Guard {
  std::atomic<uintptr_t> base{0};
  std::atomic<uintptr_t> size{0};
  std::atomic<bool> caught{false};
  std::atomic<bool> taken{false};
};

Guard guards[kMaxBusErrorGuards];
std::atomic<int> guards_used{0};  // highest number ever taken, plus one
uintptr_t page_bytes = 4096;

void EndWithDefault() {
  // Returning repeats the access, which now meets the default action and its core dump.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &action, nullptr);
}

void OnBusError(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const int used = guards_used.load(std::memory_order_acquire);
  for (int index = 0; index < used; ++index) {
    Guard& guard = guards[index];
    const uintptr_t base = guard.base.load(std::memory_order_acquire);
    const uintptr_t size = guard.size.load(std::memory_order_relaxed);
    if (base == 0 || address < base || address >= base + size) continue;
    guard.caught.store(true, std::memory_order_release);
    const uintptr_t from = address & ~(page_bytes - 1);
    const uintptr_t end = (base + size + page_bytes - 1) & ~(page_bytes - 1);
    // The raw call: the C library's mmap is not promised to be safe in a signal handler.
    const long mapped = syscall(SYS_mmap, from, end - from, PROT_READ | PROT_WRITE,
                                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == static_cast<long>(from)) return;
    break;
  }
  EndWithDefault();
}

void InstallHandler() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

int GuardBusErrors(std::byte* base, int64_t size_bytes) {
  static std::once_flag installed;
  std::call_once(installed, InstallHandler);
  for (int index = 0; index < kMaxBusErrorGuards; ++index) {
    Guard& guard = guards[index];
    if (guard.taken.load(std::memory_order_relaxed) || guard.taken.exchange(true)) continue;
    guard.caught.store(false, std::memory_order_relaxed);
    guard.size.store(static_cast<uintptr_t>(size_bytes), std::memory_order_relaxed);
    guard.base.store(reinterpret_cast<uintptr_t>(base), std::memory_order_release);
    int used = guards_used.load();
    while (used < index + 1 && !guards_used.compare_exchange_weak(used, index + 1)) {
    }
    return index;
  }
  return -1;
}

bool BusErrorCaught(int guard) { return guards[guard].caught.load(std::memory_order_acquire); }

void UnguardBusErrors(int guard) {
  guards[guard].base.store(0, std::memory_order_release);
  guards[guard].taken.store(false, std::memory_order_release);
}

}  // namespace winnow::server
