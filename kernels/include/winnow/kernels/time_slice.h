// How long a thread computes before the kernel looks who else wants its core.

#ifndef WINNOW_KERNELS_TIME_SLICE_H_
#define WINNOW_KERNELS_TIME_SLICE_H_

namespace winnow {

// Asks for long time slices for the calling thread, from now on: for threads that compute for
// milliseconds. Linux from 6.12 on lets a thread that wakes go before one whose slice is longer.
// Each keeps its share of the processors, but who has little to do, a client that gets its answer
// say, does not wait for the end of a slice.
//
// Threads that the calling one starts have usual slices again.
//
// False, and nothing changes, where the kernel knows no slices or refuses, and for a thread that
// has another policy than the default one. Thread safety: safe to call from several threads.
bool AskForLongTimeSlices();

// The opposite, with the same conditions, for threads that answer and that look for their next
// event before they sleep: when one wakes it goes before those that compute, and while it looks it
// keeps nobody from its core for longer than a tenth of a millisecond.
bool AskForShortTimeSlices();

// While one lives, the thread that made it gives way: EndTurnIfDue gives up its core for whoever
// waits for it, about every tenth of a millisecond. For work that may take longer beside work that
// is urgent. Where nobody waits it costs a system call; where others compute without end on the
// same core it leaves most of the core to them, so it is for a while only. They nest, the last one
// made decides. Thread safety: of one thread.
class GivingWay {
 public:
  // Without `gives_way` the thread does not, whatever it did before.
  explicit GivingWay(bool gives_way);
  ~GivingWay();
  GivingWay(const GivingWay&) = delete;
  GivingWay& operator=(const GivingWay&) = delete;

  // Whether the calling thread gives way.
  static bool Here();
  // Between two pieces of work. True when the calling thread gave up its core, and has it again.
  static bool EndTurnIfDue();

 private:
  const bool before_;
};

}  // namespace winnow

#endif  // WINNOW_KERNELS_TIME_SLICE_H_
