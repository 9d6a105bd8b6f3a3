#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <utility>

namespace puna::cli {

using base::Result;

template <class T>
Result<T> parse_number(std::string_view option, std::string_view text, Range<T> range) {
  T value{};
  const char *begin = text.data(), *end = begin + text.size();
  const auto [at, error] = std::from_chars(begin, end, value);
  const bool is_number = error == std::errc() && at == end;
  if (is_number && value >= range.lowest && value <= range.highest) return value;  // false for NaN
  return base::fail(base::ErrorCode::kUsage,
                    fmt::format("{} is \"{}\", but a {} from {} is expected.", option, text,
                                std::is_integral_v<T> ? "whole number" : "number", range.text()));
}

template Result<int> parse_number(std::string_view, std::string_view, Range<int>);
template Result<uint32_t> parse_number(std::string_view, std::string_view, Range<uint32_t>);
template Result<int64_t> parse_number(std::string_view, std::string_view, Range<int64_t>);
template Result<uint64_t> parse_number(std::string_view, std::string_view, Range<uint64_t>);
template Result<float> parse_number(std::string_view, std::string_view, Range<float>);
template Result<double> parse_number(std::string_view, std::string_view, Range<double>);

void add_value(CLI::App& app, const OptionTexts& texts,
               std::function<Result<void>(std::string_view, std::string_view)> read) {
  const std::string option = texts.names.substr(texts.names.rfind(',') + 1);
  const auto take = [option, read = std::move(read)](const CLI::results_t& given) {
    if (const Result<void> taken = read(option, given.front()); !taken)
      throw CLI::ValidationError(taken.error().text());  // the parser's way; main() catches it
    return true;
  };
  app.add_option(texts.names, take, texts.help)
      ->type_name(texts.type)
      ->default_str(texts.given_default);
}

CLI::Option* not_empty(CLI::Option* option) {
  return option->check(CLI::Validator(
      [](const std::string& text) { return std::string(text.empty() ? "it is empty" : ""); }, ""));
}

void add_host_flag(CLI::App& app, std::string& host) {
  not_empty(app.add_option("--host", host,
                           "The running server to ask: an address, HOST:PORT or the path of a Unix "
                           "socket; default: PUNA_HOST, OLLAMA_HOST, or what answers on this "
                           "machine at port 8080 or 11434"));
}

}  // namespace puna::cli
