// The program: parses the command line, runs one command, maps errors to one line on stderr and an
// exit code (0 fine, 1 run-time error, 2 wrong usage, 130 interrupted).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/command.h"
#include "cli/terminal.h"

#ifndef PUNA_VERSION
#define PUNA_VERSION "unknown"
#endif

namespace puna::cli {
namespace {

// The parser's message as one line.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

int fail_usage(const std::string& message, const std::string& command) {
  print_error(fmt::format("{} - See `puna {}{}--help`.", one_line(message), command,
                          command.empty() ? "" : " "));
  return 2;
}

int main(int argc, char** argv) {
  CLI::App app{"Puna runs language models on any GPU through WebGPU, and on the CPU.", "puna"};
  app.set_version_flag("--version", PUNA_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(1);
  struct Entry {
    CLI::App* app;
    Action action;
  };
  std::vector<Entry> entries;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer(fmt::format("Example: {}", command.example));
    entries.push_back({sub, command.add(*sub)});
  }
  std::string command;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto picked = app.get_subcommands();
    fmt::print("{}", (picked.empty() ? &app : picked.front())->help());
    return 0;
  } catch (const CLI::CallForVersion&) {
    fmt::print("puna {}\n", PUNA_VERSION);
    return 0;
  } catch (const CLI::ParseError& e) {
    const auto picked = app.get_subcommands();
    if (argc < 2) {
      fmt::print(stderr, "{}", app.help());
      return fail_usage("No command is given.", "");
    }
    return fail_usage(e.what(), picked.empty() ? "" : picked.front()->get_name());
  }
  for (const Entry& entry : entries) {
    if (!entry.app->parsed()) continue;
    base::Result<int> code = entry.action();
    if (code) return *code;
    if (code.error().code == base::ErrorCode::kCancelled && interrupted().load()) return 130;
    print_error(code.error().text());
    return code.error().code == base::ErrorCode::kUsage ? 2 : 1;
  }
  return 2;
}

}  // namespace
}  // namespace puna::cli

int main(int argc, char** argv) { return puna::cli::main(argc, argv); }
