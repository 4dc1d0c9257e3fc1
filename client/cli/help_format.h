// How --help looks.

#ifndef WINNOW_CLIENT_CLI_HELP_FORMAT_H_
#define WINNOW_CLIENT_CLI_HELP_FORMAT_H_

#include <string>

#include "CLI/CLI.hpp"

namespace winnow::cli {

// Fits 88 columns; says of each option its value's kind and whether it is required.
class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat();
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_HELP_FORMAT_H_
