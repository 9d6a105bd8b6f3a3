// What begins with "/" in a chat: a table, a row a command. set.cpp and show.cpp have the rows
// below /set and /show.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/chat/chat.h"

namespace puna::cli {

struct ChatCommand {
  std::string_view name;       // "/load"
  std::string_view arguments;  // for the help, "MODEL"
  std::string_view about;
  // Null: it ends the chat.
  void (*run)(Chat& chat, std::string_view rest);
  std::string_view also = {};  // another name, which is in no help
};

std::span<const ChatCommand> chat_commands();
// What follows /set and /show; names without "/".
std::span<const ChatCommand> set_commands();
std::span<const ChatCommand> show_commands();

// Runs the row that `line` begins with and gives it the rest. False: no row is called so.
// `prefix`: of the names, for the help of a table, which "", "?" and "help" print.
bool run_command(std::span<const ChatCommand> table, std::string_view prefix, Chat& chat,
                 std::string_view line);
void print_help(std::span<const ChatCommand> table, std::string_view prefix);

// A line that begins with "/". False ends the chat.
bool obey(Chat& chat, std::string_view line);

// "a b" is "a" and "b"; white space around both goes.
std::pair<std::string_view, std::string_view> first_word(std::string_view text);

}  // namespace puna::cli
