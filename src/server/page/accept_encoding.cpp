#include "server/page/accept_encoding.h"

#include <algorithm>
#include <array>

namespace puna::server {
namespace {

constexpr int kWhole = 1000;  // weights have at most three digits behind the point

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Cuts off what stands before the first `separator`, and that.
std::string_view take_part(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = trimmed(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// "0.5" in thousandths; none: it is no weight.
std::optional<int> weight_of(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return {};
  if (text.size() > 1 && text[1] != '.') return {};
  int out = (text[0] - '0') * kWhole, place = kWhole / 10;
  for (const char c : text.substr(std::min<size_t>(2, text.size()))) {
    if (c < '0' || c > '9') return {};
    out += (c - '0') * place;
    place /= 10;
  }
  return out <= kWhole ? std::optional(out) : std::nullopt;
}

constexpr std::array<std::string_view, 3> kNames = {"identity", "gzip", "br"};

// The weights that a header names, by coding, and of all others.
struct Weights {
  std::array<std::optional<int>, kNames.size()> named;
  std::optional<int> others;

  int of(Coding coding) const {
    if (const auto& weight = named[static_cast<size_t>(coding)]) return *weight;
    // What needs no decoding is taken unless it is refused.
    return others.value_or(coding == Coding::kIdentity ? 1 : 0);
  }
};

Weights weights_of(std::string_view header) {
  Weights out;
  while (!header.empty()) {
    std::string_view element = take_part(header, ',');
    std::string_view name = take_part(element, ';');
    if (same_word(name, "x-gzip")) name = "gzip";
    std::optional<int> weight = kWhole;
    while (weight && !element.empty()) {
      std::string_view value = take_part(element, ';');
      const std::string_view key = take_part(value, '=');
      weight = same_word(key, "q") ? weight_of(value) : std::nullopt;
    }
    if (!weight) continue;
    if (name == "*") out.others = weight;
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (same_word(name, kNames[i])) out.named[i] = weight;
    }
  }
  return out;
}

}  // namespace

std::string_view name_of(Coding coding) {
  return coding == Coding::kIdentity ? std::string_view() : kNames[static_cast<size_t>(coding)];
}

std::optional<Coding> choose_coding(const std::string* header, std::span<const Coding> there) {
  const Weights weights = weights_of(header ? *header : std::string_view());
  const auto best =
      std::ranges::max_element(there, {}, [&](Coding coding) { return weights.of(coding); });
  if (best == there.end() || weights.of(*best) == 0) return {};
  return *best;
}

}  // namespace puna::server
