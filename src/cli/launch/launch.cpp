// puna launch: starts a coding agent with address, key, model and context of a running server in
// its environment. No file of the agent is read or written. programs.cpp is the table.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/client/client.h"
#include "cli/client/loaded_models.h"
#include "cli/command.h"
#include "cli/launch/programs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/usage.h"

namespace puna::cli {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;

struct LaunchFlags {
  std::string program;
  std::vector<std::string> arguments;
  std::string model;
  std::string host;
  bool print = false;
};

std::vector<std::string> program_names() {
  std::vector<std::string> out;
  for (const LaunchedProgram& program : launched_programs()) out.emplace_back(program.name);
  return out;
}

Result<const LaunchedProgram*> find_program(const std::string& name) {
  for (const LaunchedProgram& program : launched_programs()) {
    if (program.name == name) return &program;
  }
  const std::vector<std::string> names = program_names();
  return base::fail(
      ErrorCode::kUsage,
      fmt::format("{}; {} are known", unknown("program", name, names), fmt::join(names, ", ")));
}

// Whether PATH has a program of that name.
bool is_installed(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view folders = path ? path : "";
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string file = fmt::format("{}/{}", end > 0 ? folders.substr(0, end) : ".", name);
    if (access(file.c_str(), X_OK) == 0) return true;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return false;
}

std::vector<std::string> names_of(const Json& tags) {
  std::vector<std::string> out;
  const Json* models = tags.find("models");
  if (!models || !models->is_array()) return out;
  for (const Json& model : models->items()) {
    if (auto name = model.get_string("name")) out.push_back(*std::move(name));
  }
  return out;
}

// The one that was asked for, else the one that is loaded, else the only one there is.
Result<std::string> pick_model(const Client& client, const std::string& wanted,
                               const std::vector<LoadedModelReport>& loaded) {
  if (wanted.empty() && loaded.size() == 1) return loaded.front().name;
  PUNA_TRY(const Json tags, client.ask("/api/tags"));
  const std::vector<std::string> names = names_of(tags);
  if (wanted.empty() && names.size() == 1) return names.front();
  if (wanted.empty()) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("The server at {} has {} models; --model says which: {}.",
                                  client.server().text(), names.size(), fmt::join(names, ", ")));
  }
  for (const std::string& name : names) {
    if (same_model(name, wanted)) return name;
  }
  return base::fail(ErrorCode::kNotFound,
                    fmt::format("The server at {} has no {}; it has: {}.", client.server().text(),
                                unknown("model", wanted, names), fmt::join(names, ", ")));
}

// Tokens that the model may have: as it is loaded, else as it was trained; 0: the server does not
// say.
uint64_t context_of(const Client& client, const std::string& model,
                    const std::vector<LoadedModelReport>& loaded) {
  for (const LoadedModelReport& each : loaded) {
    if (same_model(each.name, model)) return each.context;
  }
  const auto shown = client.ask("/api/show", Json::object().set("model", model));
  const Json* details = shown ? shown->find("details") : nullptr;
  const Json* context = details ? details->find("context_length") : nullptr;
  return context && context->is_integer() && context->integer() > 0
             ? static_cast<uint64_t>(context->integer())
             : 0;
}

// For a shell.
std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "-_./:=,@%+";
  const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kPlain.contains(c);
  });
  if (plain) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void print_setup(const Variables& variables, const std::vector<std::string>& words) {
  for (const auto& [name, value] : variables) print_out("{}={}\n", name, shell_word(value));
  std::vector<std::string> shown;
  for (const std::string& word : words) shown.push_back(shell_word(word));
  print_out("{}\n", fmt::join(shown, " "));
}

// Becomes the program; returns only where that fails.
base::Error become(const Variables& variables, std::vector<std::string> words) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  return {ErrorCode::kIo, fmt::format("Cannot start {}: {}.", words[0], std::strerror(errno)), {}};
}

Result<int> run_launch(const LaunchFlags& flags) {
  PUNA_TRY(const LaunchedProgram* program, find_program(flags.program));
  if (!flags.print && !is_installed(program->name)) {
    return base::fail(ErrorCode::kNotFound,
                      fmt::format("{} is not installed: there is no \"{}\" in PATH; `{}` installs "
                                  "it.",
                                  program->title, program->name, program->install));
  }
  PUNA_TRY(const Client client, find_server(flags.host));
  if (!client.server().unix_socket.empty()) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("{} cannot use the Unix socket {}; a server at a port is needed.",
                                  program->title, client.server().unix_socket));
  }
  PUNA_TRY(const Json ps, client.ask("/api/ps"));
  PUNA_TRY(const auto loaded, loaded_models(ps));
  LaunchSetup setup{.url = client.server().url, .key = api_key(), .model = {}, .context = 0};
  PUNA_TRY(setup.model, pick_model(client, flags.model, loaded));
  setup.context = context_of(client, setup.model, loaded);
  // A key that no server asks for: without one the programs would ask the user.
  if (setup.key.empty()) setup.key = "puna";
  std::vector<std::string> words = {std::string(program->name)};
  if (program->arguments) std::ranges::move(program->arguments(setup), std::back_inserter(words));
  words.insert(words.end(), flags.arguments.begin(), flags.arguments.end());
  const Variables variables = program->variables(setup);
  if (flags.print) {
    print_setup(variables, words);
    return 0;
  }
  return std::unexpected(become(variables, std::move(words)));
}

}  // namespace

Action add_launch(CLI::App& app) {
  auto flags = std::make_shared<LaunchFlags>();
  not_empty(app.add_option("PROGRAM", flags->program,
                           fmt::format("One of: {}", fmt::join(program_names(), ", ")))
                ->required());
  app.add_option("ARGS", flags->arguments, "What the program is given, behind --");
  not_empty(app.add_option("--model", flags->model,
                           "A model of the server; default: the one that it has loaded"));
  add_host_flag(app, flags->host);
  app.add_flag("--print", flags->print,
               "Print the environment and the command line instead of starting the program");
  return [flags] { return run_launch(*flags); };
}

}  // namespace puna::cli
