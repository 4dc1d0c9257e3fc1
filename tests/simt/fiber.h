// A stack that runs until it gives control back. x86-64, System V calling convention.

#ifndef WINNOW_TESTS_SIMT_FIBER_H_
#define WINNOW_TESTS_SIMT_FIBER_H_

#include <cstddef>

namespace winnow::simt {

// A stack with a guard page below it, so that an overflow faults.
class FiberStack {
 public:
  FiberStack();
  FiberStack(FiberStack&& other) noexcept;
  FiberStack& operator=(FiberStack&&) = delete;
  ~FiberStack();

  // The stack pointer with which SwitchFiber enters `entry`, which must never return.
  void* Prepare(void (*entry)());

 private:
  void* memory_ = nullptr;
};

// Saves the caller's registers and where its stack is to `*from`, and goes on where `to` was saved.
extern "C" void WinnowSwitchFiber(void** from, void* to);

}  // namespace winnow::simt

#endif  // WINNOW_TESTS_SIMT_FIBER_H_
