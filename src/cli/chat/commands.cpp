#include "cli/chat/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/word_wrap.h"

namespace puna::cli {
namespace {

void save(Chat& chat, std::string_view rest) {
  if (rest.empty()) return print_out("/save takes a name: /save MODEL\n");
  const auto saved = chat.model().save(std::string(rest), chat.options.settings,
                                       chat.options.system, chat.messages());
  if (!saved) return print_error(saved.error().text());
  print_out("The model {} is made.\n", base::printable(rest));
  if (chat.has_media())
    print_err("Its conversation has the texts alone; pictures and sounds are not kept.\n");
}

void load(Chat& chat, std::string_view rest) {
  if (rest.empty()) return print_out("/load takes a name: /load MODEL\n");
  const auto loaded = chat.model().load(std::string(rest));
  if (!loaded) return print_error(loaded.error().text());
  chat.clear();
  // The other model may lack what was asked of this one.
  if (!chat.change(chat.options.settings)) chat.change({});
  chat.options.raw = chat.options.raw || !chat.model().has_template();
  print_out("{} answers now; the conversation begins anew.\n", base::printable(rest));
}

void system(Chat& chat, std::string_view rest) {
  if (run_command(set_commands(), "/set ", chat, fmt::format("system {}", rest))) return;
}

// What the tables do not know; `near` may be what is meant, `list` prints all that there is.
void say_unknown(std::string_view what, std::string_view name,
                 const std::optional<std::string>& near, std::string_view list) {
  const std::string text =
      fmt::format("Unknown {} {}{} {} lists all.\n", what, base::printable(name),
                  near ? fmt::format("; did you mean {}?", *near) : ".", list);
  print_out("{}", wrapped(stdout, text));
}

void set(Chat& chat, std::string_view rest) {
  if (!run_command(set_commands(), "/set ", chat, rest)) say_unknown("setting", rest, {}, "/set");
}

void show(Chat& chat, std::string_view rest) {
  if (!run_command(show_commands(), "/show ", chat, rest))
    say_unknown("subject", rest, {}, "/show");
}

void help(Chat&, std::string_view rest);

constexpr ChatCommand kCommands[] = {
    {"/set", "...", "Set a parameter, the system message, how answers are shown; /set lists all",
     set},
    {"/show", "...", "Show what the model is; /show lists all", show},
    {"/load", "MODEL", "Go on with another model; forgets the conversation", load},
    {"/save", "MODEL", "Keep model, settings and conversation under another name", save},
    {"/clear", "", "Forget the conversation",
     [](Chat& chat, std::string_view) {
       chat.clear();
       print_out("The conversation is forgotten.\n");
     }},
    {"/drop", "", "Forget its oldest turns, until half of the context is free",
     [](Chat& chat, std::string_view) { chat.drop(); }},
    {"/system", "[TEXT]", "Set or remove the system message", system},
    {"/bye", "", "End", nullptr, "/exit"},
    {"/?", "", "This help; /? shortcuts: the keys", help, "/help"},
};

constexpr std::pair<const char*, const char*> kKeys[] = {
    {"Ctrl-A, Ctrl-E", "To the beginning, the end of the line"},
    {"Alt-B, Alt-F", "A word back, a word on"},
    {"Ctrl-K, Ctrl-U", "Delete up to the end, the whole line"},
    {"Ctrl-W", "Delete the word before"},
    {"Up, Down", "Earlier lines"},
    {"Ctrl-R", "Search earlier lines"},
    {"Ctrl-G", "Write the line in an editor ($EDITOR); several lines are sent when it ends"},
    {"Ctrl-L", "Clear the screen"},
    {"Ctrl-C", "Stop the answer, or drop the line"},
    {"Ctrl-D", "End"},
};

// Two columns, or two lines where the terminal is narrow.
void print_pair(std::string_view name, std::string_view about) {
  constexpr size_t kIndent = 24, kNarrowIndent = 4, kNarrow = 64;
  const size_t columns = columns_of(stdout);
  if (columns > 0 && columns < kNarrow) {
    return print_out("{}\n{:{}}{}\n", name, "", kNarrowIndent,
                     wrapped(stdout, about, kNarrowIndent));
  }
  print_out("{:<{}} {}\n", name, kIndent - 1, wrapped(stdout, about, kIndent));
}

void help(Chat&, std::string_view rest) {
  if (rest == "shortcuts" || rest == "/shortcuts") {
    for (const auto& [keys, about] : kKeys) print_pair(keys, about);
    return;
  }
  print_help(kCommands, "");
  print_pair("\"\"\"", "Begin and end a message of several lines");
}

}  // namespace

std::span<const ChatCommand> chat_commands() { return kCommands; }

std::pair<std::string_view, std::string_view> first_word(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const auto trim = [&](std::string_view part) {
    part.remove_prefix(std::min(part.find_first_not_of(kSpace), part.size()));
    return part.substr(0, part.find_last_not_of(kSpace) + 1);
  };
  text = trim(text);
  const size_t end = std::min(text.find_first_of(kSpace), text.size());
  return {text.substr(0, end), trim(text.substr(end))};
}

void print_help(std::span<const ChatCommand> table, std::string_view prefix) {
  for (const ChatCommand& command : table) {
    print_pair(fmt::format("{}{}{}{}", prefix, command.name, command.arguments.empty() ? "" : " ",
                           command.arguments),
               command.about);
  }
}

bool run_command(std::span<const ChatCommand> table, std::string_view prefix, Chat& chat,
                 std::string_view line) {
  const auto [name, rest] = first_word(line);
  if (name.empty() || name == "?" || name == "help") {
    print_help(table, prefix);
    return true;
  }
  for (const ChatCommand& command : table) {
    if (command.name != name && (command.also.empty() || command.also != name)) continue;
    command.run(chat, rest);
    return true;
  }
  return false;
}

bool obey(Chat& chat, std::string_view line) {
  const std::string_view name = first_word(line).first;
  const auto is = [&](const ChatCommand& command) {
    return command.name == name || command.also == name;
  };
  const auto* const found = std::ranges::find_if(kCommands, is);
  if (found == std::end(kCommands)) {
    std::vector<std::string> names;
    for (const ChatCommand& command : kCommands) names.emplace_back(command.name);
    const auto near = nearest(name, names);
    say_unknown("command", name, near, "/?");
    return true;
  }
  if (!found->run) return false;
  found->run(chat, first_word(line).second);
  return true;
}

}  // namespace puna::cli
