#include "cli/serve/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "api/model_source.h"
#include "cli/serve/table.h"
#include "cli/text_file.h"

namespace puna::cli::serve {

using base::ErrorCode;
using base::Result;

namespace {

constexpr size_t kMostBytes = 1 << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// Of a model, and not of the server around it.
bool is_of_model(const Flag& flag) {
  const std::span<const Flag> tables[] = {model_flags(), memory_flags(), sampling_flags(),
                                          chat_flags(),  form_flags(),   effectless_flags()};
  if (flag.name() == "--slot-save-path") return true;
  return std::ranges::any_of(tables, [&](std::span<const Flag> table) {
    return std::ranges::any_of(table, [&](const Flag& each) { return &each == &flag; });
  });
}

class Parser {
 public:
  Result<Presets> parse(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const size_t end = std::min(text.find('\n'), text.size());
      PUNA_TRY_CONTEXT(take(trimmed(text.substr(0, end))), fmt::format("In line {}", line_));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(out_);
  }

 private:
  static std::unexpected<base::Error> wrong(std::string text) {
    return base::fail(ErrorCode::kUsage, std::move(text));
  }

  Result<void> take(std::string_view line) {
    if (line.empty() || line.starts_with(';') || line.starts_with('#')) return {};
    if (line.starts_with('[')) return begin(line);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return wrong(fmt::format("\"{}\" is neither [NAME] nor \"flag = value\".", line));
    const std::string_view key = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (key.empty() || value.empty())
      return wrong(fmt::format("\"{}\" lacks a flag or its value.", line));
    if (!begun_) return take_version(key, value);
    return set(key, value);
  }

  Result<void> take_version(std::string_view key, std::string_view value) {
    if (key == "version" && value == "1") return {};
    return wrong(fmt::format(
        "\"{} = {}\" stands before the first [NAME], where only \"version = 1\" may.", key, value));
  }

  Result<void> begin(std::string_view line) {
    if (!line.ends_with(']') || line.size() < 3)
      return wrong(fmt::format("\"{}\" is no [NAME].", line));
    const std::string name(trimmed(line.substr(1, line.size() - 2)));
    begun_ = true;
    common_ = name == "*";
    if (common_) return {};
    if (out_.find(name)) return wrong(fmt::format("\"{}\" is there twice.", name));
    out_.models.push_back({.name = name, .given = {}, .lines = {}, .load_at_start = false});
    return {};
  }

  Result<void> set(std::string_view key, std::string_view value) {
    if (key == "load-on-startup" && !common_) {
      PUNA_TRY(out_.models.back().load_at_start, truth(key, value));
      return {};
    }
    // They are about processes, of which there is one.
    if (key == "stop-timeout" || key == "dedup-cache-models") {
      out_.notes.push_back(
          fmt::format("\"{}\" in line {} of the presets has no effect here.", key, line_));
      return {};
    }
    PUNA_TRY(auto given, given_flag(key, value));
    const Flag& flag = *given.first;
    if (!is_of_model(flag))
      return wrong(fmt::format("\"{}\" is of the server, and not of a model.", key));
    if (common_ && (flag.name() == "--model" || flag.name() == "--alias"))
      return wrong(fmt::format("\"{}\" cannot be the same for all models.", key));
    ServeFlags scratch;
    PUNA_TRY(flag.read(scratch, key, given.second));
    GivenFlags& to = common_ ? out_.common : out_.models.back().given;
    to.push_back(std::move(given));
    if (!common_) out_.models.back().lines += fmt::format("{} = {}\n", key, value);
    return {};
  }

  Presets out_;
  size_t line_ = 0;
  bool begun_ = false, common_ = false;
};

}  // namespace

const Preset* Presets::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      models, [&](const Preset& each) { return api::same_name(each.name, name); });
  return found == models.end() ? nullptr : &*found;
}

Result<Presets> parse_presets(std::string_view text) { return Parser().parse(text); }

Result<Presets> read_presets(const std::string& path) {
  PUNA_TRY(const std::string text, read_text_file("file of presets", path));
  if (text.size() > kMostBytes)
    return base::fail(ErrorCode::kUsage, fmt::format("The presets \"{}\" have {} bytes; {} are the "
                                                     "most.",
                                                     path, text.size(), kMostBytes));
  PUNA_TRY_CONTEXT(Presets out, parse_presets(text),
                   fmt::format("While reading the presets \"{}\"", path));
  return out;
}

}  // namespace puna::cli::serve
