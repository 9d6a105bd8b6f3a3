#include "store/name.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::store {
namespace {

constexpr size_t kMaxPartBytes = 80;  // these bounds are ollama's, so that a store can be shared
constexpr size_t kMaxHostBytes = 350;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct Rule {
  std::string_view what;
  size_t max_bytes;
  std::string_view also;  // beside letters, digits, '_' and '-'
};
constexpr Rule kHostRule{"host", kMaxHostBytes, ".:"};
constexpr Rule kSpaceRule{"namespace", kMaxPartBytes, ""};
constexpr Rule kModelRule{"model", kMaxPartBytes, "."};
constexpr Rule kTagRule{"tag", kMaxPartBytes, "."};

bool is_allowed(char c, const Rule& rule) {
  return is_letter_or_digit(c) || c == '_' || c == '-' || rule.also.contains(c);
}

// What is wrong with the part; empty when nothing is.
std::string wrong(std::string_view part, const Rule& rule) {
  if (part.empty()) return fmt::format("its {} is empty", rule.what);
  if (part.size() > rule.max_bytes)
    return fmt::format("its {} has {} bytes, and {} are the most", rule.what, part.size(),
                       rule.max_bytes);
  if (!is_letter_or_digit(part.front()) && part.front() != '_')
    return fmt::format("its {} begins with neither a letter nor a digit", rule.what);
  if (!std::ranges::all_of(part, [&](char c) { return is_allowed(c, rule); }))
    return fmt::format("its {} may hold letters, digits, '_', '-'{} alone", rule.what,
                       rule.also.empty()  ? ""
                       : rule.also == "." ? " and '.'"
                                          : ", '.' and ':'");
  return {};
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string ModelName::full() const { return fmt::format("{}/{}/{}:{}", host, space, model, tag); }

std::string ModelName::folded() const { return lower_case(full()); }

std::string ModelName::text() const {
  const bool ours = lower_case(host) == kPunaHost;
  const bool usual = lower_case(host) == kDefaultHost;
  if (ours || (usual && lower_case(space) == kDefaultSpace))
    return fmt::format("{}:{}", model, tag);
  if (usual) return fmt::format("{}/{}:{}", space, model, tag);
  return full();
}

bool is_bare(std::string_view text) { return !text.contains('/'); }

bool is_url(std::string_view text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

base::Result<ModelName> parse_name(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is not a model name ([[host/]namespace/]model[:tag]): {}.",
                    text.substr(0, 200), why));
  };
  if (text.contains('@'))
    return refuse("models are named by tag, not by digest, so '@' stands in no name");
  ModelName name;
  std::string_view rest = text;
  const size_t slash = rest.rfind('/');
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    name.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  name.model = rest.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (slash != std::string_view::npos) {
    const std::string_view above = rest.substr(0, slash);
    const size_t first = above.find('/');
    name.space = above.substr(first == std::string_view::npos ? 0 : first + 1);
    if (first != std::string_view::npos) name.host = above.substr(0, first);
  }
  for (const auto& [part, rule] : {std::pair(&name.host, kHostRule),
                                   {&name.space, kSpaceRule},
                                   {&name.model, kModelRule},
                                   {&name.tag, kTagRule}}) {
    if (const std::string why = wrong(*part, rule); !why.empty()) return refuse(why);
  }
  return name;
}

std::string as_name_part(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxPartBytes)) out += is_allowed(c, kModelRule) ? c : '-';
  const size_t first = out.find_first_not_of(".-");
  return first == std::string::npos ? "model" : out.substr(first);
}

}  // namespace puna::store
