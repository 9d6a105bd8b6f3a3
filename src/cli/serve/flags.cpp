#include "cli/serve/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "cli/command.h"
#include "cli/serve/table.h"

namespace puna::cli {

using base::ErrorCode;
using base::Result;
using serve::Flag;

namespace {

// Spellings that the parser does not know, and what it is told in their place.
std::map<std::string, std::string, std::less<>> spellings() {
  std::map<std::string, std::string, std::less<>> out;
  for (const serve::Group& group : serve::groups()) {
    for (const Flag& flag : group.flags) {
      for (const std::string& each : serve::parts_of(flag.also)) {
        const size_t equals = each.find('=');
        out.emplace(each.substr(0, equals),
                    equals == std::string::npos ? flag.name() : each.substr(equals + 1));
      }
    }
  }
  return out;
}

// All names that the parser knows.
std::vector<std::string> names_of(const Flag& flag) {
  std::vector<std::string> out = serve::parts_of(flag.names);
  for (std::string& name : out) {
    if (name.starts_with('!')) name.erase(0, 1);
  }
  return out;
}

// A file that is not there is no wrong usage: read_serve_flags() comes upon it again.
bool is_of_file(ErrorCode code) { return code == ErrorCode::kNotFound || code == ErrorCode::kIo; }

void add(CLI::App& app, const Flag& flag, const char* group, GivenFlags& given,
         const std::shared_ptr<ServeFlags>& scratch) {
  const auto take = [&flag, &given, scratch](const std::string& value) {
    if (value.empty())
      throw CLI::ValidationError(fmt::format("{} is \"\", but a value is expected.", flag.name()));
    const auto taken = flag.read(*scratch, flag.name(), value);
    if (!taken && !is_of_file(taken.error().code))
      throw CLI::ValidationError(taken.error().text());  // the parser's way; main() catches it
    given.emplace_back(&flag, value);
  };
  CLI::Option* option = nullptr;
  if (flag.type.empty()) {
    option = app.add_flag_function(
        flag.names,
        [take, &flag](std::int64_t sum) {
          // Once for each spelling.
          if (sum == 0)
            throw CLI::ValidationError(fmt::format("{} is given both ways", flag.name()));
          take(sum > 0 ? "on" : "off");
        },
        flag.help);
  } else {
    option = app.add_option(
        flag.names,
        [take](const CLI::results_t& values) {
          std::ranges::for_each(values, take);
          return true;
        },
        flag.help);
    option->type_name(flag.type);
    if (flag.repeats) {
      option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
    } else {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  option->group(group);
}

// And not another flag; "-" and "-1" are none.
bool is_value(std::string_view word) {
  return !word.starts_with('-') || word.size() == 1 || word.find_first_of("0123456789.") == 1;
}

}  // namespace

void add_serve_flags(CLI::App& app, GivenFlags& given) {
  // Readers are pure but for what they are given: this is where values are tried.
  const auto scratch = std::make_shared<ServeFlags>();
  for (const serve::Group& group : serve::groups()) {
    for (const Flag& flag : group.flags) add(app, flag, group.title, given, scratch);
  }
}

Result<std::vector<std::string>> spell_serve(std::vector<std::string> words) {
  static const auto kSpellings = spellings();
  for (size_t i = 0; i < words.size(); ++i) {
    std::string& word = words[i];
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-') continue;
    const size_t equals = std::min(word.find('='), word.size());
    std::string name = word.substr(0, equals);
    // llama-server takes both.
    if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
    if (const auto other = kSpellings.find(name); other != kSpellings.end()) name = other->second;
    const Flag* flag = serve::find_flag(name.substr(0, name.find('=')));
    if (!flag) {
      const std::string refused = serve::refusal(name);
      if (!refused.empty()) return base::fail(ErrorCode::kUsage, refused);
    }
    word = name + word.substr(equals);
    if (const size_t at = word.find('='); flag && flag->type.empty() && at != std::string::npos) {
      PUNA_TRY(const bool on, serve::truth(word.substr(0, at), word.substr(at + 1)));
      word = word.substr(0, at) + (on ? "=true" : "=false");
    }
    if (!flag || flag->type.empty() || word.find('=') != std::string::npos) continue;
    if (i + 1 < words.size() && is_value(words[i + 1])) continue;
    if (!flag->bare) return base::fail(ErrorCode::kUsage, fmt::format("{} has no value.", word));
    word += fmt::format("={}", flag->bare);
  }
  return words;
}

namespace serve {

const Flag* find_flag(std::string_view name) {
  for (const serve::Group& group : serve::groups()) {
    for (const Flag& flag : group.flags) {
      const std::vector<std::string> names = names_of(flag);
      if (std::ranges::find(names, name) != names.end()) return &flag;
    }
  }
  return nullptr;
}

Result<std::pair<const Flag*, std::string>> given_flag(std::string_view key,
                                                       std::string_view value) {
  const auto try_word =
      [&](const std::string& word) -> Result<std::optional<std::pair<const Flag*, std::string>>> {
    PUNA_TRY(const std::vector<std::string> spelled, spell_serve({word}));
    const size_t equals = spelled.front().find('=');
    const std::string name = spelled.front().substr(0, equals);
    const Flag* const flag = find_flag(name);
    if (!flag || equals == std::string::npos) return std::nullopt;
    std::string given = spelled.front().substr(equals + 1);
    if (flag->type.empty()) {
      const bool negated = flag->names.contains(",!" + name);
      given = (given == "true") != negated ? "on" : "off";
    }
    return std::pair{flag, std::move(given)};
  };
  for (const char* hyphens : {"--", "-"}) {
    PUNA_TRY(auto found, try_word(fmt::format("{}{}={}", hyphens, key, value)));
    if (found) return *std::move(found);
  }
  for (const Group& group : groups()) {
    for (const Flag& flag : group.flags) {
      if (flag.llama && flag.llama == key) return std::pair{&flag, std::string(value)};
    }
  }
  return base::fail(ErrorCode::kUsage, fmt::format("there is no flag \"{}\"", key));
}

}  // namespace serve

}  // namespace puna::cli
