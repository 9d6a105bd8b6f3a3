// puna man: manual pages, made of what --help knows: puna(1) and a page a command.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/command_facts.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/usage.h"

namespace puna::cli {
namespace {

using base::Result;

// Text as it stands: a hyphen is one that can be copied, and no line is taken for a request.
std::string plain(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string capitals(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

std::string head(const std::string& page, std::string_view about) {
  return fmt::format(".TH {} 1 \"\" \"puna {}\" \"Puna\"\n.SH NAME\n{} \\- {}\n", capitals(page),
                     PUNA_VERSION, plain(page), plain(about));
}

std::string names_of(const OptionFacts& option) {
  std::string out;
  for (const std::string& name : option.names)
    out += fmt::format("{}\\fB{}\\fR", out.empty() ? "" : ", ", plain(name));
  if (!option.argument.empty()) return fmt::format("\\fI{}\\fR", plain(option.argument));
  if (!option.type.empty()) out += fmt::format(" \\fI{}\\fR", plain(option.type));
  return out;
}

std::string about(const OptionFacts& option) {
  std::string out = plain(option.about);
  if (!option.choices.empty() && option.about.find(option.choices.front()) == std::string::npos)
    out += plain(fmt::format(" One of: {}.", fmt::join(option.choices, ", ")));
  if (!option.initial.empty()) out += plain(fmt::format(" Default: {}.", option.initial));
  return out;
}

std::string page_of(const CommandFacts& command) {
  std::string out = head("puna-" + command.name, command.summary);
  out += fmt::format(".SH SYNOPSIS\n.B puna {}\n[\\fIoptions\\fR]", command.name);
  for (const OptionFacts& option : command.options) {
    if (option.argument.empty()) continue;
    const std::string dots = option.repeats ? " ..." : "";
    out += option.required ? fmt::format(" \\fI{}\\fR{}", option.argument, dots)
                           : fmt::format(" [\\fI{}\\fR{}]", option.argument, dots);
  }
  out += fmt::format("\n.SH DESCRIPTION\n{}.\n.SH OPTIONS\n", plain(command.summary));
  for (const OptionFacts& option : command.options)
    out += fmt::format(".TP\n{}\n{}\n", names_of(option), about(option));
  out += fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", plain(command.example));
  out +=
      ".SH EXIT STATUS\n0 where all is well, 1 for what fails while it runs, 2 for wrong usage, "
      "130 where it is interrupted.\n.SH SEE ALSO\n.BR puna (1)\n";
  return out;
}

std::string page_of_program(std::span<const CommandFacts> commands) {
  std::string out = head("puna", "runs language models on any GPU through WebGPU, and on the CPU");
  out += ".SH SYNOPSIS\n.B puna\n\\fIcommand\\fR [\\fIoptions\\fR]\n.SH COMMANDS\n";
  for (const CommandFacts& command : commands)
    out += fmt::format(".TP\n.BR puna\\-{} (1)\n{}\n", command.name, plain(command.summary));
  out +=
      ".SH ENVIRONMENT\n.TP\n.B PUNA_HOME\nWhere models and the history of chats are kept; "
      "~/.puna where it is not set.\n.TP\n.BR PUNA_HOST \", \" OLLAMA_HOST\nThe server that is "
      "asked where one runs.\n.TP\n.B PUNA_WEBGPU\nThe WebGPU library: dawn, wgpu or a path; what "
      "is found and suits a card best where it is not set.\n.TP\n.B PUNA_API_KEY\nThe key that "
      "servers are given.\n.TP\n.BR "
      "PUNA_NOHISTORY \", \" OLLAMA_NOHISTORY\nChats remember no lines where one is "
      "set.\n.TP\n.B NO_COLOR\nNothing is coloured where it is set.\n";
  return out;
}

struct ManFlags {
  std::string command;
  std::string folder;
};

Result<void> write_page(const std::string& folder, const std::string& name,
                        const std::string& text) {
  PUNA_TRY(const io::OutputPlace place, io::find_output(fmt::format("{}/{}.1", folder, name), {}));
  PUNA_TRY(const std::unique_ptr<io::ByteSink> file, create_output(place));
  PUNA_TRY(file->write(std::as_bytes(std::span(text))));
  return file->finish();
}

Result<int> run_man(const ManFlags& flags, const CLI::App& app) {
  const std::vector<CommandFacts> commands = command_facts(app);
  if (!flags.folder.empty()) {
    if (!flags.command.empty()) {
      return base::fail(base::ErrorCode::kUsage,
                        "--output writes all pages; it takes no COMMAND beside it.");
    }
    std::error_code ignored;  // what cannot be made cannot be written to either
    std::filesystem::create_directories(flags.folder, ignored);
    PUNA_TRY(write_page(flags.folder, "puna", page_of_program(commands)));
    for (const CommandFacts& command : commands)
      PUNA_TRY(write_page(flags.folder, "puna-" + command.name, page_of(command)));
    return 0;
  }
  if (flags.command.empty()) {
    write_raw(stdout, page_of_program(commands));
    return 0;
  }
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) {
    names.push_back(command.name);
    if (command.name != flags.command) continue;
    write_raw(stdout, page_of(command));
    return 0;
  }
  return base::fail(base::ErrorCode::kUsage, unknown("command", flags.command, names));
}

}  // namespace

Action add_man(CLI::App& app) {
  auto flags = std::make_shared<ManFlags>();
  not_empty(app.add_option("COMMAND", flags->command, "A command; default: the program itself"));
  not_empty(app.add_option("--output", flags->folder,
                           "A folder to write all pages into: puna.1, puna-run.1, ..."));
  return [flags, &app] { return run_man(*flags, app); };
}

}  // namespace puna::cli
