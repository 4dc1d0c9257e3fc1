#include "tests/simt/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

// The registers that a call must preserve, pushed in one order and popped in the other.
asm(R"(
.text
.globl WinnowSwitchFiber
.type WinnowSwitchFiber, @function
WinnowSwitchFiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size WinnowSwitchFiber, .-WinnowSwitchFiber
)");

namespace winnow::simt {
namespace {

constexpr size_t kGuardBytes = 4096;
constexpr size_t kStackBytes = 64 * 1024;  // touched pages alone cost memory
constexpr int kSavedRegisters = 6;

}  // namespace

FiberStack::FiberStack() {
  memory_ = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED || mprotect(memory_, kGuardBytes, PROT_NONE) != 0) {
    std::perror("no memory for a fiber's stack");
    std::abort();
  }
}

FiberStack::FiberStack(FiberStack&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)) {}

FiberStack::~FiberStack() {
  if (memory_ != nullptr) munmap(memory_, kGuardBytes + kStackBytes);
}

void* FiberStack::Prepare(void (*entry)()) {
  auto* top = reinterpret_cast<uint64_t*>(static_cast<char*>(memory_) + kGuardBytes + kStackBytes);
  // A function starts with its stack 8 bytes off a multiple of 16: that is where its caller's
  // address would be.
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(entry);
  for (int i = 0; i < kSavedRegisters; ++i) *--top = 0;
  return top;
}

}  // namespace winnow::simt
