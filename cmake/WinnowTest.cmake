# How tests are declared. In a sanitizer build a test's name ends in the sanitizer's, so that the results of several
# builds can be read in one list.

if(WINNOW_SANITIZE MATCHES "address")
  set(WINNOW_TEST_SUFFIX ".asan")
elseif(WINNOW_SANITIZE STREQUAL "undefined")
  set(WINNOW_TEST_SUFFIX ".ubsan")
elseif(WINNOW_SANITIZE STREQUAL "thread")
  set(WINNOW_TEST_SUFFIX ".tsan")
else()
  set(WINNOW_TEST_SUFFIX "")
endif()

# What the sanitizers are told at run time; each suppression file gives its reasons.
function(winnow_test_environment result)
  set(suppressions ${PROJECT_SOURCE_DIR}/tests/sanitizers)
  set(${result}
    "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
    "LSAN_OPTIONS=suppressions=${suppressions}/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1:suppressions=${suppressions}/ubsan.supp"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${suppressions}/tsan.supp"
    PARENT_SCOPE)
endfunction()

# winnow_test(NAME SOURCES ... [LIBRARIES ...] [LABELS ...] [TIMEOUT seconds] [ENVIRONMENT NAME=VALUE ...] [SERIAL]):
# a GoogleTest program with one ctest entry. Label `unit` unless said otherwise; SERIAL keeps other tests from running
# beside it (for tests that measure time or memory).
function(winnow_test name)
  cmake_parse_arguments(arg "SERIAL" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "winnow_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(WINNOW_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()

  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE winnow::options ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  # At -O3 GCC 12 sees an overlap in GoogleTest's printers of strings that cannot be (its bug 105651). It stays a warning.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=restrict>)
  if(WINNOW_SANITIZE)
    list(APPEND arg_LABELS sanitizer)
    winnow_test_environment(sanitizer_environment)
    list(APPEND arg_ENVIRONMENT ${sanitizer_environment})
  endif()

  set(test ${name}${WINNOW_TEST_SUFFIX})
  add_test(NAME ${test} COMMAND ${name})
  set_tests_properties(${test} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}")
  if(arg_SERIAL)
    set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
