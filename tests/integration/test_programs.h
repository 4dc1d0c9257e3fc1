// Where the programs under test are, and on which backend they run: the same tests run where they
// were built and, copied with their programs into one folder, on another machine.

#ifndef WINNOW_TESTS_INTEGRATION_TEST_PROGRAMS_H_
#define WINNOW_TESTS_INTEGRATION_TEST_PROGRAMS_H_

#include <string>

namespace winnow::testing {

// The program of the name that `built` ends in: in the folder WINNOW_TEST_PROGRAMS if that is set,
// else `built` if it exists, else beside the running test.
std::string ProgramPath(const std::string& built);

// WINNOW_TEST_BACKEND: "cpu" (default) or "cuda".
std::string TestBackend();

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_TEST_PROGRAMS_H_
