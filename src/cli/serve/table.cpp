#include "cli/serve/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace puna::cli::serve {

using base::ErrorCode;
using base::Result;

std::string Flag::name() const {
  const size_t negated = names.find(",!");
  const std::string_view own = std::string_view(names).substr(0, negated);
  return std::string(own.substr(own.rfind(',') + 1));
}

std::span<const Group> groups() {
  static const std::array kGroups = {Group{"Listening", listening_flags()},
                                     Group{"Model", model_flags()},
                                     Group{"Several models", many_flags()},
                                     Group{"Memory", memory_flags()},
                                     Group{"Defaults of requests", sampling_flags()},
                                     Group{"Chats", chat_flags()},
                                     Group{"Forms of answers", form_flags()},
                                     Group{"Routes and logs", answer_flags()},
                                     Group{"", effectless_flags()}};
  return kGroups;
}

Flag on_off(const std::string& names, const std::string& help,
            std::function<void(ServeFlags&, bool)> set) {
  return {.names = names,
          .type = {},
          .help = help,
          .read = [set = std::move(set)](ServeFlags& flags, std::string_view option,
                                         std::string_view value) -> Result<void> {
            PUNA_TRY(const bool on, truth(option, value));
            set(flags, on);
            return {};
          }};
}

Flag text(const std::string& names, const std::string& type, const std::string& help,
          std::function<void(ServeFlags&, std::string)> set) {
  return value(names, type, help,
               [set = std::move(set)](ServeFlags& flags, std::string_view,
                                      std::string_view given) -> Result<void> {
                 set(flags, std::string(given));
                 return {};
               });
}

Flag texts(const std::string& names, const std::string& type, const std::string& help,
           std::function<void(ServeFlags&, std::vector<std::string>)> set) {
  return value(names, type + ",...", help,
               [set = std::move(set)](ServeFlags& flags, std::string_view option,
                                      std::string_view given) -> Result<void> {
                 std::vector<std::string> parts = parts_of(given);
                 if (parts.empty()) {
                   return base::fail(
                       ErrorCode::kUsage,
                       fmt::format("{} is \"{}\", in which nothing stands.", option, given));
                 }
                 set(flags, std::move(parts));
                 return {};
               });
}

Flag choice(const std::string& names, std::vector<std::string> words, const std::string& help,
            std::function<void(ServeFlags&, std::string_view)> set) {
  return value(
      names, "TEXT", help,
      [words = std::move(words), set = std::move(set)](ServeFlags& flags, std::string_view option,
                                                       std::string_view given) -> Result<void> {
        if (std::ranges::find(words, given) == words.end()) return not_one_of(option, given, words);
        set(flags, given);
        return {};
      });
}

Flag value(const std::string& names, const std::string& type, const std::string& help, Read read) {
  return {.names = names, .type = type, .help = help, .read = std::move(read)};
}

Flag with(Flag flag, const char* llama, std::string also) {
  flag.llama = llama;
  flag.also = std::move(also);
  return flag;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<bool> truth(std::string_view option, std::string_view value) {
  for (const std::string_view yes : {"true", "1", "on", "enabled"}) {
    if (value == yes) return true;
  }
  for (const std::string_view no : {"false", "0", "off", "disabled"}) {
    if (value == no) return false;
  }
  return base::fail(ErrorCode::kUsage,
                    fmt::format("{} is \"{}\", but on or off is expected.", option, value));
}

std::unexpected<base::Error> not_one_of(std::string_view option, std::string_view value,
                                        std::span<const std::string> words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return base::fail(ErrorCode::kUsage, fmt::format("{} is \"{}\", but only {} {} possible.", option,
                                                   value, list, words.size() == 1 ? "is" : "are"));
}

}  // namespace puna::cli::serve
