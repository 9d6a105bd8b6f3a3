// The table of the flags of puna serve: a row a flag, in a file a group. flags.cpp declares them,
// environment.cpp reads their variables.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/serve/flags.h"

namespace puna::cli::serve {

// Errors: kUsage naming `option`, which may be a variable of the environment, and the value.
using Read = std::function<base::Result<void>(ServeFlags& flags, std::string_view option,
                                              std::string_view value)>;

struct Flag {
  // "-c,--ctx-size": the last is its name. Of a switch that can be negated "--slots,!--no-slots":
  // the first is.
  std::string names;
  std::string type;  // of --help; empty: a switch, which is read as "true" or "false"
  std::string help;
  Read read;
  std::string also = {};        // "-np,--other": what else it is called
  const char* llama = nullptr;  // llama-server's variable
  const char* ollama = nullptr;
  bool repeats = false;        // may be given several times
  const char* bare = nullptr;  // the value where none follows; null: one has to

  std::string name() const;
};

struct Group {
  const char* title;
  std::span<const Flag> flags;
};
std::span<const Group> groups();

std::span<const Flag> listening_flags();
std::span<const Flag> model_flags();
std::span<const Flag> many_flags();
std::span<const Flag> memory_flags();
std::span<const Flag> sampling_flags();
std::span<const Flag> chat_flags();
std::span<const Flag> form_flags();
std::span<const Flag> answer_flags();  // routes, and what is written
// llama-server's that say what is always so here, or nothing here; they are in no help text.
std::span<const Flag> effectless_flags();

// By any of its names, with its hyphens; null: there is none.
const Flag* find_flag(std::string_view name);

// A flag as a file of presets has it: by any of its names without hyphens before them, or by one of
// its variables; with the value that it would have on a command line. Errors: kUsage for a name
// that no flag has, or one that is refused; what its reader says of the value.
base::Result<std::pair<const Flag*, std::string>> given_flag(std::string_view key,
                                                             std::string_view value);

// Those that are refused, and why; empty: the flag or variable is not one of them.
std::string refusal(std::string_view flag);
std::string refusal_of_variable(std::string_view variable);

// Flags by their types. A number has its range in the help.
template <class T>
Flag number(const std::string& names, Range<T> range, const std::string& help,
            std::function<void(ServeFlags&, T)> set) {
  OptionTexts texts = number_texts(names, help, range);
  return {.names = names,
          .type = texts.type,
          .help = texts.help,
          .read = [range, set = std::move(set)](ServeFlags& flags, std::string_view option,
                                                std::string_view value) -> base::Result<void> {
            PUNA_TRY(const T number, parse_number(option, value, range));
            set(flags, number);
            return {};
          }};
}
Flag on_off(const std::string& names, const std::string& help,
            std::function<void(ServeFlags&, bool)> set);
Flag text(const std::string& names, const std::string& type, const std::string& help,
          std::function<void(ServeFlags&, std::string)> set);
// Separated by commas; each is longer than nothing.
Flag texts(const std::string& names, const std::string& type, const std::string& help,
           std::function<void(ServeFlags&, std::vector<std::string>)> set);
// One of a few words.
Flag choice(const std::string& names, std::vector<std::string> words, const std::string& help,
            std::function<void(ServeFlags&, std::string_view)> set);
// With a reader of its own.
Flag value(const std::string& names, const std::string& type, const std::string& help, Read read);

// A row with more than its builder says.
Flag with(Flag flag, const char* llama, std::string also = {});

std::vector<std::string> parts_of(std::string_view text, char separator = ',');
// "on", "true", "1", "enabled" and their opposites.
base::Result<bool> truth(std::string_view option, std::string_view value);
// "--x is "y"; a, b and c are possible."
std::unexpected<base::Error> not_one_of(std::string_view option, std::string_view value,
                                        std::span<const std::string> words);

}  // namespace puna::cli::serve
