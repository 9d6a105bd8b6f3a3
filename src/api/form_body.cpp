#include "api/form_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace puna::api {

using base::Json;
using base::Result;

namespace {

constexpr std::string_view kLine = "\r\n";
constexpr std::string_view kDashes = "--";
constexpr size_t kMostFields = 100;

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// The value of a parameter behind the first ';' of a header; none: it has none of that name.
std::optional<std::string> parameter(std::string_view value, std::string_view name) {
  for (size_t at = value.find(';'); at != std::string_view::npos;) {
    value.remove_prefix(at + 1);
    const size_t equals = value.find('=');
    if (equals == std::string_view::npos) return {};
    const bool is_it = same(trimmed(value.substr(0, equals)), name);
    value = value.substr(equals + 1);
    std::string out;
    if (value.starts_with('"')) {
      size_t i = 1;
      for (; i < value.size() && value[i] != '"'; ++i) {
        if (value[i] == '\\' && i + 1 < value.size()) ++i;
        out += value[i];
      }
      value.remove_prefix(std::min(i + 1, value.size()));
    } else {
      out = trimmed(value.substr(0, value.find(';')));
    }
    if (is_it) return out;
    at = value.find(';');
  }
  return {};
}

std::unexpected<base::Error> wrong(std::string_view why) {
  return base::fail(base::ErrorCode::kInvalidArgument,
                    fmt::format("The body is no multipart/form-data: {}.", why));
}

// The name of a part by its headers; none: they do not say one.
std::optional<std::string> name_of(std::string_view headers) {
  while (!headers.empty()) {
    const size_t end = std::min(headers.find(kLine), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + kLine.size(), headers.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (same(trimmed(line.substr(0, colon)), "content-disposition"))
      return parameter(line.substr(colon + 1), "name");
  }
  return {};
}

}  // namespace

std::optional<std::string> form_boundary(std::string_view content_type) {
  constexpr size_t kLongest = 70;  // RFC 2046
  if (!same(trimmed(content_type.substr(0, content_type.find(';'))), "multipart/form-data"))
    return {};
  auto out = parameter(content_type, "boundary");
  if (!out || out->empty() || out->size() > kLongest) return {};
  return out;
}

Result<Json> read_form(std::string_view body, std::string_view boundary) {
  const std::string first = fmt::format("--{}", boundary);
  const std::string between = fmt::format("\r\n{}", first);
  if (!body.starts_with(first)) return wrong("it does not begin with its boundary");
  body.remove_prefix(first.size());
  Json out = Json::object();
  for (size_t n = 0;; ++n) {
    if (body.starts_with(kDashes)) return out;
    if (!body.starts_with(kLine)) return wrong("a boundary is not at the end of a line");
    if (n == kMostFields) return wrong(fmt::format("it has more than {} fields", kMostFields));
    body.remove_prefix(kLine.size());
    const size_t headers_end = body.find("\r\n\r\n");
    if (headers_end == std::string_view::npos) return wrong("a field has no end of its headers");
    const auto name = name_of(body.substr(0, headers_end));
    if (!name) return wrong("a field has no name");
    body.remove_prefix(headers_end + 2 * kLine.size());
    const size_t end = body.find(between);
    if (end == std::string_view::npos) return wrong(fmt::format("\"{}\" does not end", *name));
    const std::string text(body.substr(0, end));
    if (name->ends_with("[]")) {
      Json list = out.find(*name) ? *out.find(*name) : Json::array();
      out.set(*name, std::move(list.push(text)));
    } else if (!out.find(*name)) {
      out.set(*name, text);
    }
    body.remove_prefix(end + between.size());
  }
}

}  // namespace puna::api
