# ThreadSanitizer has to see every lock, but the distribution's abseil is built without it: its Mutex would look like no
# lock at all. In a thread-sanitizer build the calls are therefore wrapped at link time (tests/sanitizers/absl_locks.cc),
# which tells ThreadSanitizer what happened and calls the real function.
if(NOT WINNOW_SANITIZE STREQUAL "thread")
  return()
endif()

get_target_property(winnow_absl_include absl::base INTERFACE_INCLUDE_DIRECTORIES)
list(GET winnow_absl_include 0 winnow_absl_include)
file(STRINGS ${winnow_absl_include}/absl/base/options.h winnow_absl_namespace
  REGEX "^#define ABSL_OPTION_INLINE_NAMESPACE_NAME ")
string(REGEX REPLACE "^.* " "" winnow_absl_namespace "${winnow_absl_namespace}")
string(LENGTH "${winnow_absl_namespace}" winnow_absl_length)
set(winnow_absl_mangled "${winnow_absl_length}${winnow_absl_namespace}")

add_library(winnow_absl_locks OBJECT ${PROJECT_SOURCE_DIR}/tests/sanitizers/absl_locks.cc)
target_compile_definitions(winnow_absl_locks PRIVATE WINNOW_ABSL_NAMESPACE="${winnow_absl_mangled}")
target_link_libraries(winnow_absl_locks PRIVATE absl::synchronization)

# Mangled names after the namespace. T is an absl::Time, D an absl::Duration, C a Condition.
set(winnow_wrapped
  5Mutex4LockEv 5Mutex6UnlockEv 5Mutex7TryLockEv 5MutexD1Ev
  5Mutex10ReaderLockEv 5Mutex12ReaderUnlockEv 5Mutex13ReaderTryLockEv
  5Mutex5AwaitERKNS0_9ConditionE
  5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE
  5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE
  5Mutex8LockWhenERKNS0_9ConditionE
  5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE
  5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE
  7CondVar4WaitEPNS0_5MutexE
  7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE
  7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)
foreach(function ${winnow_wrapped})
  add_link_options(-Wl,--wrap=_ZN4absl${winnow_absl_mangled}${function})
endforeach()
foreach(function 12Notification6NotifyEv)
  add_link_options(-Wl,--wrap=_ZN4absl${winnow_absl_mangled}${function})
endforeach()
foreach(function 12Notification19WaitForNotificationEv
                 12Notification30WaitForNotificationWithTimeoutENS0_8DurationE
                 12Notification31WaitForNotificationWithDeadlineENS0_4TimeE)
  add_link_options(-Wl,--wrap=_ZNK4absl${winnow_absl_mangled}${function})
endforeach()
target_link_libraries(winnow_options INTERFACE $<TARGET_OBJECTS:winnow_absl_locks>)
