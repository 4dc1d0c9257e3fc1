// Tells ThreadSanitizer about abseil's locks in builds where abseil itself is not instrumented. The
// linker sends every call of our objects here (cmake/WinnowThreadSanitizer.cmake); each wrapper
// reports what happens and calls the real function. What runs between "pre" and "post" is not
// checked: conditions that abseil evaluates while it holds the lock are safe.

#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#define WINNOW_REAL(mangled) asm("__real__ZN4absl" WINNOW_ABSL_NAMESPACE mangled)
#define WINNOW_WRAP(mangled) asm("__wrap__ZN4absl" WINNOW_ABSL_NAMESPACE mangled)
#define WINNOW_REAL_CONST(mangled) asm("__real__ZNK4absl" WINNOW_ABSL_NAMESPACE mangled)
#define WINNOW_WRAP_CONST(mangled) asm("__wrap__ZNK4absl" WINNOW_ABSL_NAMESPACE mangled)

namespace {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Notification;
using absl::Time;

// Reports a lock around `call`; `read` for shared locks.
template <typename Call>
auto ReportLock(Mutex* mutex, unsigned flags, Call call) {
  __tsan_mutex_pre_lock(mutex, flags);
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    __tsan_mutex_post_lock(mutex, flags, 0);
  } else {
    const bool result = call();
    __tsan_mutex_post_lock(mutex, flags, 0);
    return result;
  }
}

template <typename Call>
bool ReportTryLock(Mutex* mutex, unsigned flags, Call call) {
  flags |= __tsan_mutex_try_lock;
  __tsan_mutex_pre_lock(mutex, flags);
  const bool locked = call();
  __tsan_mutex_post_lock(mutex, locked ? flags : flags | __tsan_mutex_try_lock_failed, 0);
  return locked;
}

template <typename Call>
void ReportUnlock(Mutex* mutex, unsigned flags, Call call) {
  __tsan_mutex_pre_unlock(mutex, flags);
  call();
  __tsan_mutex_post_unlock(mutex, flags);
}

// Reports a wait, which gives the lock up and takes it again. That the lock was held exclusively is
// what all our code does.
template <typename Call>
auto ReportWait(Mutex* mutex, Call call) {
  ReportUnlock(mutex, 0, [] {});
  return ReportLock(mutex, 0, call);
}

// Where Notification::HasBeenNotified, which is inline, does its acquiring load.
void* NotifiedFlag(const Notification* notification) {
  return const_cast<char*>(reinterpret_cast<const char*>(notification)) + sizeof(Mutex);
}

}  // namespace

void RealLock(Mutex*) WINNOW_REAL("5Mutex4LockEv");
void WrapLock(Mutex*) WINNOW_WRAP("5Mutex4LockEv");
void WrapLock(Mutex* mutex) {
  ReportLock(mutex, 0, [=] { RealLock(mutex); });
}

void RealUnlock(Mutex*) WINNOW_REAL("5Mutex6UnlockEv");
void WrapUnlock(Mutex*) WINNOW_WRAP("5Mutex6UnlockEv");
void WrapUnlock(Mutex* mutex) {
  ReportUnlock(mutex, 0, [=] { RealUnlock(mutex); });
}

bool RealTryLock(Mutex*) WINNOW_REAL("5Mutex7TryLockEv");
bool WrapTryLock(Mutex*) WINNOW_WRAP("5Mutex7TryLockEv");
bool WrapTryLock(Mutex* mutex) {
  return ReportTryLock(mutex, 0, [=] { return RealTryLock(mutex); });
}

void RealDestroy(Mutex*) WINNOW_REAL("5MutexD1Ev");
void WrapDestroy(Mutex*) WINNOW_WRAP("5MutexD1Ev");
void WrapDestroy(Mutex* mutex) {
  __tsan_mutex_destroy(mutex, __tsan_mutex_not_static);
  RealDestroy(mutex);
}

void RealReaderLock(Mutex*) WINNOW_REAL("5Mutex10ReaderLockEv");
void WrapReaderLock(Mutex*) WINNOW_WRAP("5Mutex10ReaderLockEv");
void WrapReaderLock(Mutex* mutex) {
  ReportLock(mutex, __tsan_mutex_read_lock, [=] { RealReaderLock(mutex); });
}

void RealReaderUnlock(Mutex*) WINNOW_REAL("5Mutex12ReaderUnlockEv");
void WrapReaderUnlock(Mutex*) WINNOW_WRAP("5Mutex12ReaderUnlockEv");
void WrapReaderUnlock(Mutex* mutex) {
  ReportUnlock(mutex, __tsan_mutex_read_lock, [=] { RealReaderUnlock(mutex); });
}

bool RealReaderTryLock(Mutex*) WINNOW_REAL("5Mutex13ReaderTryLockEv");
bool WrapReaderTryLock(Mutex*) WINNOW_WRAP("5Mutex13ReaderTryLockEv");
bool WrapReaderTryLock(Mutex* mutex) {
  return ReportTryLock(mutex, __tsan_mutex_read_lock, [=] { return RealReaderTryLock(mutex); });
}

void RealAwait(Mutex*, const Condition&) WINNOW_REAL("5Mutex5AwaitERKNS0_9ConditionE");
void WrapAwait(Mutex*, const Condition&) WINNOW_WRAP("5Mutex5AwaitERKNS0_9ConditionE");
void WrapAwait(Mutex* mutex, const Condition& condition) {
  ReportWait(mutex, [&] { RealAwait(mutex, condition); });
}

bool RealAwaitFor(Mutex*, const Condition&, Duration)
    WINNOW_REAL("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
bool WrapAwaitFor(Mutex*, const Condition&, Duration)
    WINNOW_WRAP("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
bool WrapAwaitFor(Mutex* mutex, const Condition& condition, Duration timeout) {
  return ReportWait(mutex, [&] { return RealAwaitFor(mutex, condition, timeout); });
}

bool RealAwaitUntil(Mutex*, const Condition&, Time)
    WINNOW_REAL("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
bool WrapAwaitUntil(Mutex*, const Condition&, Time)
    WINNOW_WRAP("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
bool WrapAwaitUntil(Mutex* mutex, const Condition& condition, Time deadline) {
  return ReportWait(mutex, [&] { return RealAwaitUntil(mutex, condition, deadline); });
}

void RealLockWhen(Mutex*, const Condition&) WINNOW_REAL("5Mutex8LockWhenERKNS0_9ConditionE");
void WrapLockWhen(Mutex*, const Condition&) WINNOW_WRAP("5Mutex8LockWhenERKNS0_9ConditionE");
void WrapLockWhen(Mutex* mutex, const Condition& condition) {
  ReportLock(mutex, 0, [&] { RealLockWhen(mutex, condition); });
}

bool RealLockWhenFor(Mutex*, const Condition&, Duration)
    WINNOW_REAL("5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
bool WrapLockWhenFor(Mutex*, const Condition&, Duration)
    WINNOW_WRAP("5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
bool WrapLockWhenFor(Mutex* mutex, const Condition& condition, Duration timeout) {
  return ReportLock(mutex, 0, [&] { return RealLockWhenFor(mutex, condition, timeout); });
}

bool RealLockWhenUntil(Mutex*, const Condition&, Time)
    WINNOW_REAL("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
bool WrapLockWhenUntil(Mutex*, const Condition&, Time)
    WINNOW_WRAP("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
bool WrapLockWhenUntil(Mutex* mutex, const Condition& condition, Time deadline) {
  return ReportLock(mutex, 0, [&] { return RealLockWhenUntil(mutex, condition, deadline); });
}

void RealWait(CondVar*, Mutex*) WINNOW_REAL("7CondVar4WaitEPNS0_5MutexE");
void WrapWait(CondVar*, Mutex*) WINNOW_WRAP("7CondVar4WaitEPNS0_5MutexE");
void WrapWait(CondVar* changed, Mutex* mutex) {
  ReportWait(mutex, [=] { RealWait(changed, mutex); });
}

bool RealWaitFor(CondVar*, Mutex*, Duration)
    WINNOW_REAL("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
bool WrapWaitFor(CondVar*, Mutex*, Duration)
    WINNOW_WRAP("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
bool WrapWaitFor(CondVar* changed, Mutex* mutex, Duration timeout) {
  return ReportWait(mutex, [=] { return RealWaitFor(changed, mutex, timeout); });
}

bool RealWaitUntil(CondVar*, Mutex*, Time)
    WINNOW_REAL("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
bool WrapWaitUntil(CondVar*, Mutex*, Time)
    WINNOW_WRAP("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
bool WrapWaitUntil(CondVar* changed, Mutex* mutex, Time deadline) {
  return ReportWait(mutex, [=] { return RealWaitUntil(changed, mutex, deadline); });
}

void RealNotify(Notification*) WINNOW_REAL("12Notification6NotifyEv");
void WrapNotify(Notification*) WINNOW_WRAP("12Notification6NotifyEv");
void WrapNotify(Notification* notification) {
  __tsan_release(NotifiedFlag(notification));
  RealNotify(notification);
}

void RealWaitForNotification(const Notification*)
    WINNOW_REAL_CONST("12Notification19WaitForNotificationEv");
void WrapWaitForNotification(const Notification*)
    WINNOW_WRAP_CONST("12Notification19WaitForNotificationEv");
void WrapWaitForNotification(const Notification* notification) {
  RealWaitForNotification(notification);
  __tsan_acquire(NotifiedFlag(notification));
}

bool RealNotifiedFor(const Notification*, Duration)
    WINNOW_REAL_CONST("12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
bool WrapNotifiedFor(const Notification*, Duration)
    WINNOW_WRAP_CONST("12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
bool WrapNotifiedFor(const Notification* notification, Duration timeout) {
  const bool notified = RealNotifiedFor(notification, timeout);
  if (notified) __tsan_acquire(NotifiedFlag(notification));
  return notified;
}

bool RealNotifiedUntil(const Notification*, Time)
    WINNOW_REAL_CONST("12Notification31WaitForNotificationWithDeadlineENS0_4TimeE");
bool WrapNotifiedUntil(const Notification*, Time)
    WINNOW_WRAP_CONST("12Notification31WaitForNotificationWithDeadlineENS0_4TimeE");
bool WrapNotifiedUntil(const Notification* notification, Time deadline) {
  const bool notified = RealNotifiedUntil(notification, deadline);
  if (notified) __tsan_acquire(NotifiedFlag(notification));
  return notified;
}
