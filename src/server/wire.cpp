#include "server/wire.h"

#include <algorithm>

namespace puna::server {
namespace {

bool is_of_path(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\'' && c != ',' && c != ';' &&
         c != ')' && c != ':';
}

// Absolute paths become their last part: whose machine it is and how it is laid out is nobody's
// business, which file it was may be.
std::string without_paths(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool begins = text[i] == '/' && (i == 0 || !is_of_path(text[i - 1]));
    if (!begins) {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_of_path(text[end])) ++end;
    std::string_view path = text.substr(i, end - i);
    i = end;
    const size_t last = path.find_last_of('/', path.find_last_not_of('/'));
    out += last == 0 || last == std::string_view::npos ? path : path.substr(last + 1);
  }
  return out;
}

}  // namespace

api::HttpReply error_reply(api::Dialect dialect, int status, std::string_view message) {
  return api::HttpReply::json(api::error_body(dialect, status, message), status);
}

api::HttpReply error_reply(api::Dialect dialect, const base::Error& error) {
  base::Error shown = error;
  shown.message = without_paths(shown.message);
  for (std::string& line : shown.context) line = without_paths(line);
  if (error.code == base::ErrorCode::kCancelled) return error_reply(dialect, 503, shown.text());
  return api::HttpReply::json(api::error_body(dialect, shown), api::status_of(error.code));
}

}  // namespace puna::server
