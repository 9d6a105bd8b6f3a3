#include "cli/client/client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cli/terminal.h"
#include "io/http/http_client.h"

namespace puna::cli {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr int kPollMs = 100;      // Ctrl-C is seen so soon
constexpr int kProbeSeconds = 2;  // for a server to say that it is one
constexpr size_t kMaxBytes = size_t{256} << 20;

// {"error": "..."} or {"error": {"message": "..."}}; empty: the body says nothing.
std::string message_of(const Json& body) {
  const Json* error = body.find("error");
  if (error && error->is_object()) error = error->find("message");
  return error && error->is_string() ? error->string() : "";
}

base::Error error_of(const io::HttpHead& head, const ServerAddress& server) {
  const Json body = Json::parse(head.error_text).value_or(Json());
  std::string message = message_of(body);
  if (message.empty())
    message = fmt::format("The server at {} answers with status {}.", server.text(), head.status);
  if (head.status == 401 || head.status == 403)
    message += " - The variable PUNA_API_KEY is where a key is taken from";
  ErrorCode code = ErrorCode::kNetwork;
  if (head.status >= 400 && head.status < 500) code = ErrorCode::kInvalidArgument;
  if (head.status == 404) code = ErrorCode::kNotFound;
  if (head.status == 501) code = ErrorCode::kUnsupported;
  return {code, std::move(message), {}};
}

// What proxies are not asked for.
bool is_this_machine(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  const std::string_view host =
      url.substr(0, url.starts_with('[') ? url.find(']') + 1 : url.find_first_of(":/"));
  const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "[::1]" || (is_number && host.starts_with("127."));
}

}  // namespace

std::string api_key() {
  const char* keys = std::getenv("PUNA_API_KEY");
  const std::string_view list = keys ? keys : "";
  return std::string(list.substr(0, list.find(',')));
}

Result<std::string> Client::send(
    std::string_view path, const Json& body, int stall_s,
    const std::function<Result<void>(std::string_view)>& on_piece) const {
  const std::string text = body.is_null() ? "" : body.dump();
  io::HttpRequest request;
  request.method = body.is_null() ? "GET" : "POST";
  request.url = server_.url + std::string(path);
  request.plain_http = true;
  request.unix_socket = server_.unix_socket;
  request.direct = !server_.unix_socket.empty() || is_this_machine(server_.url);
  request.stall_timeout_s = stall_s;
  request.cancel = &interrupted();
  if (!body.is_null()) {
    request.headers.emplace_back("Content-Type: application/json");
    request.body_bytes = text.size();
    request.body = [&text](uint64_t offset, std::span<std::byte> to) -> Result<void> {
      std::memcpy(to.data(), text.data() + offset, to.size());
      return {};
    };
  }
  if (const std::string key = api_key(); !key.empty()) request.authorization = "Bearer " + key;
  std::string whole;
  io::HttpSink sink;
  sink.body = [&](std::span<const std::byte> bytes) -> Result<void> {
    const std::string_view piece(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (on_piece) return on_piece(piece);
    if (whole.size() + piece.size() > kMaxBytes)
      return base::fail(ErrorCode::kCorrupt, "The answer of the server is too long.");
    whole += piece;
    return {};
  };
  std::optional<Result<io::HttpHead>> end;
  io::HttpPool pool;
  pool.start(std::move(request), std::move(sink),
             [&](Result<io::HttpHead> head) { end = std::move(head); });
  while (!end) {
    pool.wait(kPollMs);
    if (!end && interrupted()) {
      pool.clear();
      return base::fail(ErrorCode::kCancelled, "The request was interrupted.");
    }
  }
  if (!*end) return std::unexpected(std::move(end->error()));
  if (!(*end)->ok()) return std::unexpected(error_of(**end, server_));
  return whole;
}

Result<Json> Client::ask(std::string_view path, const Json& body) const {
  PUNA_TRY(const std::string text, send(path, body, /*stall_s=*/0, nullptr));
  PUNA_TRY_CONTEXT(Json out, Json::parse(text),
                   fmt::format("While reading what {} answers at {}", server_.text(), path));
  return out;
}

Result<void> Client::stream(std::string_view path, const Json& body,
                            const std::function<Result<void>(const Json&)>& on_line) const {
  std::string held;  // of a line whose end has not come
  const auto take = [&](std::string_view line) -> Result<void> {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    PUNA_TRY_CONTEXT(const Json json, Json::parse(line),
                     fmt::format("While reading what {} answers at {}", server_.text(), path));
    if (const std::string message = message_of(json); !message.empty())
      return base::fail(ErrorCode::kNetwork, message);
    return on_line(json);
  };
  const auto piece = [&](std::string_view text) -> Result<void> {
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      held += text.substr(0, end);
      text.remove_prefix(end + 1);
      PUNA_TRY(take(held));
      held.clear();
    }
    held += text;
    if (held.size() > kMaxBytes)
      return base::fail(ErrorCode::kCorrupt, "A line of the server's answer is too long.");
    return {};
  };
  PUNA_TRY(send(path, body, /*stall_s=*/0, piece));
  return take(held);
}

Result<void> Client::answers() const {
  PUNA_TRY(const std::string text, send("/api/version", {}, kProbeSeconds, nullptr));
  const Json json = Json::parse(text).value_or(Json());
  if (json.find("version")) return {};
  return base::fail(
      ErrorCode::kNetwork,
      fmt::format("What answers at {} is no server of Puna's or Ollama's kind.", server_.text()));
}

Result<Client> find_server(const std::string& host) {
  PUNA_TRY(const std::vector<ServerAddress> addresses, server_addresses(host));
  std::vector<std::string> tried;
  std::string why;
  for (const ServerAddress& address : addresses) {
    Client client(address);
    const Result<void> answers = client.answers();
    if (answers) return client;
    if (answers.error().code == ErrorCode::kCancelled) return std::unexpected(answers.error());
    tried.push_back(address.text());
    if (!address.from.empty()) why = fmt::format(" ({})", answers.error().text());
  }
  return base::fail(ErrorCode::kNetwork,
                    fmt::format("No server answers at {}{}; `puna serve` starts one, --host says "
                                "where one is.",
                                fmt::join(tried, " or "), why));
}

}  // namespace puna::cli
