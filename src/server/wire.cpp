#include "server/wire.h"

namespace puna::server {
api::HttpReply error_reply(api::Dialect dialect, int status, std::string_view message) {
  return api::HttpReply::json(api::error_body(dialect, status, message), status);
}

api::HttpReply error_reply(api::Dialect dialect, const base::Error& error) {
  base::Error shown = error;
  shown.message = api::without_paths(shown.message);
  for (std::string& line : shown.context) line = api::without_paths(line);
  return api::HttpReply::json(api::error_body(dialect, shown), api::status_of(error.code));
}

api::HttpReply busy_reply(api::Dialect dialect, std::string_view message) {
  api::HttpReply out = error_reply(dialect, 503, message);
  out.headers.emplace_back("Retry-After", "5");  // seconds
  return out;
}

}  // namespace puna::server
