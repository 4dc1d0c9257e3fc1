#include "client/cli/help_format.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace winnow::cli {

HelpFormat::HelpFormat() {
  column_width(30);
  label("Subcommands", "Commands");
}

std::string HelpFormat::make_help(const CLI::App* app, std::string name,
                                  CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  while (absl::StrReplaceAll({{"\n\n\n", "\n\n"}}, &text) > 0) {
  }
  while (text.size() > 1 && text[text.size() - 2] == '\n') text.pop_back();
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = absl::StrCat("\nUsage: ", name);
  if (!app->get_subcommands([](const CLI::App*) { return true; }).empty()) {
    const bool needed = app->get_require_subcommand_min() > 0;
    return absl::StrCat(usage, needed ? " COMMAND" : " [COMMAND]", " [OPTIONS]\n");
  }
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_required()) continue;
    if (option->get_positional()) {
      absl::StrAppend(&usage, " ", option->get_type_name());
    } else {
      absl::StrAppend(&usage, " ", option->get_name(), " ", option->get_type_name());
    }
  }
  return absl::StrCat(usage, " [OPTIONS]\n");
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  return absl::StrCat(" ", option->get_type_name(), option->get_required() ? " (required)" : "");
}

}  // namespace winnow::cli
