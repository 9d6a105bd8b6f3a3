// The program: parses the command line, runs one command, maps errors to one line on stderr and an
// exit code (0 fine, 1 run-time error, 2 wrong usage, 130 interrupted).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/serve/child.h"
#include "cli/terminal.h"
#include "cli/usage.h"

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

struct Entry {
  CLI::App* app;
  Action action;
};

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

// How ollama and others call what has another name here.
struct OtherName {
  std::string_view theirs, ours;
};
constexpr OtherName kOtherNames[] = {{"ls", "list"},   {"help", "--help"}, {"version", "--version"},
                                     {"chat", "run"},  {"copy", "cp"},     {"remove", "rm"},
                                     {"delete", "rm"}, {"generate", "run"}};

std::string unknown_command(std::string_view word) {
  for (const OtherName& name : kOtherNames) {
    if (name.theirs == word)
      return fmt::format("unknown command \"{}\"; did you mean \"{}\"?", word, name.ours);
  }
  return unknown("command", word, command_names());
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool is_flag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

// What the parser could not say so well: unknown names first, whatever else is wrong.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> left = app.remaining();
  for (const std::string& word : left) {
    if (is_flag(word)) return unknown("option", word.substr(0, word.find('=')), flag_names(app));
  }
  if (!left.empty() && app.get_parent())
    return fmt::format("\"{}\" is one argument too many", left.front());
  // "--temp: At Most 1 required but received 2", "Could not convert: --raw = x"
  std::string text = one_line(error.what());
  constexpr std::string_view kConverts = "Could not convert: ";
  if (text.starts_with(kConverts) && text.contains(" = ")) {
    const size_t equals = text.find(" = ");
    return fmt::format("{} is \"{}\", which it cannot be",
                       text.substr(kConverts.size(), equals - kConverts.size()),
                       text.substr(equals + 3));
  }
  if (const size_t at = text.find(": At Most "); at != std::string::npos)
    return fmt::format("{} is given more often than it may be", text.substr(0, at));
  return text;
}

// Commands and flags that do not exist, or not yet; empty when there are none.
std::string refuse_names(std::span<char* const> words) {
  if (words.empty()) return "No command is given";
  const std::string_view command = words.front();
  if (!is_flag(command)) {
    const std::vector<std::string> names = command_names();
    if (std::ranges::find(names, command) == names.end()) return unknown_command(command);
  }
  for (const std::string_view word : words) {
    if (word == "--") break;
    const std::string_view name = word.substr(0, word.find('='));
    // The parser would take the next word for the value.
    if (word.starts_with("--") && name.size() + 1 == word.size())
      return fmt::format("{} has no value", word);
  }
  return {};
}

// All words, as the options of the command are called.
base::Result<std::vector<std::string>> spell(std::span<char* const> words) {
  std::vector<std::string> out(words.begin(), words.end());
  const auto command = std::ranges::find_if(
      commands(), [&](const Command& each) { return !out.empty() && each.name == out.front(); });
  if (command == commands().end() || !command->spell) return out;
  return command->spell(std::move(out));
}

// Runs what was asked for; the value is the exit code. Results that were lost are an error, however
// well the command went.
int act(const Action& action) {
  base::Result<int> code = action();
  if (code) {
    if (const auto written = results_written(); !written) code = std::unexpected(written.error());
  }
  if (code) return *code;
  if (code.error().code == base::ErrorCode::kCancelled && interrupted().load())
    return kInterruptedExit;
  print_error(code.error().text());
  return code.error().code == base::ErrorCode::kUsage ? 2 : 1;
}

int main(int argc, char** argv) {
  CLI::App app{"Puna runs language models on any GPU through WebGPU, and on the CPU.", "puna"};
  app.set_version_flag("--version", PUNA_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(1);
  std::vector<Entry> entries;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer(fmt::format("Example: {}", command.example));
    entries.push_back({sub, command.add(*sub)});
  }
  if (argc < 2) write_raw(stderr, app.help());
  if (argc > 1 && argv[1] == kChildCommand) return act(run_child);
  const std::span words(argv + 1, static_cast<size_t>(std::max(argc - 1, 0)));
  if (const std::string wrong = refuse_names(words); !wrong.empty()) return fail_usage(wrong, "");
  const auto picked = [&]() -> const CLI::App& {
    return app.get_subcommands().empty() ? app : *app.get_subcommands().front();
  };
  auto spelled = spell(words);
  if (!spelled) return fail_usage(spelled.error().text(), words.front() + std::string());
  std::ranges::reverse(*spelled);  // the parser takes words from the back
  try {
    app.parse(*std::move(spelled));
  } catch (const CLI::CallForHelp&) {
    return act([&]() -> base::Result<int> {
      write_raw(stdout, app.help());  // of the command, once one is named
      return 0;
    });
  } catch (const CLI::CallForVersion&) {
    return act([]() -> base::Result<int> {
      print_out("puna {}\n", PUNA_VERSION);
      return 0;
    });
  } catch (const CLI::ParseError& e) {
    const CLI::App& sub = picked();
    return fail_usage(explain(sub, e), sub.get_parent() ? sub.get_name() : "");
  }
  for (const Entry& entry : entries) {
    if (entry.app->parsed()) return act(entry.action);
  }
  return 2;
}

}  // namespace
}  // namespace puna::cli

int main(int argc, char** argv) {
  puna::cli::open_closed_streams();
  return puna::cli::main(argc, argv);
}
