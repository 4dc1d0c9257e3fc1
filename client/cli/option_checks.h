// Checks of option values for the command line parser: the message says what was given and what is
// accepted. For Option::transform, because they also rewrite the value as the parser reads it.

#ifndef WINNOW_CLIENT_CLI_OPTION_CHECKS_H_
#define WINNOW_CLIENT_CLI_OPTION_CHECKS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"

namespace winnow::cli {

// A whole number, `low` to `high` inclusive.
CLI::Validator WholeNumber(int64_t low, int64_t high);

// A power of two, `low` to `high` inclusive.
CLI::Validator PowerOfTwo(int64_t low, int64_t high);

// A finite number, `low` to `high` inclusive.
CLI::Validator Number(double low, double high);

// A number of seconds, more than 0 and at most a day.
CLI::Validator Seconds();

// Any text but the empty one, as a variable of a script that is not set gives.
CLI::Validator NotEmpty();

// Other words for some of them: {{"float32", "fp32"}}.
using Synonyms = std::vector<std::pair<std::string, std::string>>;

// One of these words, or another word for one, in whose place it is put.
CLI::Validator OneOf(std::vector<std::string> words, Synonyms synonyms = {});

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_OPTION_CHECKS_H_
