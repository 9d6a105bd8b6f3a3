// Where the server listens, whom it lets in, and what a client may take.
#include <fmt/format.h>

#include <fstream>

#include "cli/serve/table.h"

namespace puna::cli::serve {
namespace {

using base::ErrorCode;
using base::Result;
using server::Options;

constexpr int kLongest = 31'536'000;  // a year, in seconds

std::function<void(ServeFlags&, std::string)> server_text(std::string Options::* to) {
  return [to](ServeFlags& flags, std::string value) { flags.server.*to = std::move(value); };
}
std::function<void(ServeFlags&, bool)> server_switch(bool Options::* to) {
  return [to](ServeFlags& flags, bool on) { flags.server.*to = on; };
}

Result<void> read_key_file(ServeFlags& flags, std::string_view option, std::string_view value) {
  auto keys = read_keys(std::string(value));
  if (!keys) {
    return base::fail(keys.error().code,
                      fmt::format("{} is \"{}\": {}", option, value, keys.error().text()));
  }
  flags.key_file = value;
  for (std::string& key : *keys) flags.server.api_keys.push_back(std::move(key));
  return {};
}

Result<void> read_prefix(ServeFlags& flags, std::string_view option, std::string_view value) {
  if (!value.starts_with('/') || value.find_first_of(" ?#") != std::string_view::npos) {
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("{} is \"{}\", but a path that begins with / is expected.", option, value));
  }
  flags.server.api_prefix = value;
  return {};
}

std::vector<Flag> listening_rows() {
  std::vector<Flag> out;
  out.push_back(
      with(texts("--host", "ADDRESS",
                 "Addresses to listen on, or paths of Unix sockets (*.sock); default: 127.0.0.1",
                 [](ServeFlags& flags, auto value) { flags.hosts = std::move(value); }),
           "LLAMA_ARG_HOST"));
  out.push_back(
      with(number<int>("--port", {0, 65535},
                       "Port; 0 = any that is free; default: 8080, and 11434 where both are free",
                       [](ServeFlags& flags, int n) { flags.port = static_cast<uint16_t>(n); }),
           "LLAMA_ARG_PORT"));
  out.push_back(with(on_off("--reuse-port", "Others may listen on the port too",
                            server_switch(&Options::reuse_port)),
                     "LLAMA_ARG_REUSE_PORT"));
  out.push_back(with(value("--api-prefix", "PATH", "Stands before all paths", read_prefix),
                     "LLAMA_ARG_API_PREFIX"));
  out.push_back(with(texts("--api-key", "KEY", "Keys, one of which a client has to give",
                           [](ServeFlags& flags, auto keys) {
                             for (std::string& key : keys) {
                               flags.keys.push_back(key);
                               flags.server.api_keys.push_back(std::move(key));
                             }
                           }),
                     "LLAMA_API_KEY"));
  out.push_back(with(value("--api-key-file", "PATH",
                           "A file of keys, one a line; # begins a comment; SIGHUP has it "
                           "read again",
                           read_key_file),
                     "LLAMA_ARG_API_KEY_FILE"));
  out.push_back(on_off("--no-auth", "Listens beyond this machine without asking for a key",
                       [](ServeFlags& flags, bool on) { flags.no_auth = on; }));
  out.push_back(
      texts("--hosts", "NAME", "Further names that clients may call the server by",
            [](ServeFlags& flags, auto value) { flags.server.hosts = std::move(value); }));
  out.push_back(with(
      text("--ssl-key-file", "PATH", "Private key of TLS (PEM)", server_text(&Options::key_file)),
      "LLAMA_ARG_SSL_KEY_FILE"));
  out.push_back(with(text("--ssl-cert-file", "PATH", "Certificate of TLS (PEM)",
                          server_text(&Options::certificate_file)),
                     "LLAMA_ARG_SSL_CERT_FILE"));
  out.push_back(
      with(texts("--cors-origins", "ORIGIN",
                 "Whose pages may use the server: origins, localhost or *; default: localhost",
                 [](ServeFlags& flags, auto value) { flags.server.origins = std::move(value); }),
           "LLAMA_ARG_CORS_ORIGINS"));
  out.back().ollama = "OLLAMA_ORIGINS";
  out.push_back(with(text("--cors-methods", "TEXT", "Methods that pages may use",
                          server_text(&Options::cors_methods)),
                     "LLAMA_ARG_CORS_METHODS"));
  out.push_back(with(
      text("--cors-headers", "TEXT", "Headers that pages may send; default: those they ask for",
           [](ServeFlags& flags, std::string value) {
             std::string& headers = flags.server.cors_headers;
             headers = std::move(value);
             if (headers == "*") headers.clear();
           }),
      "LLAMA_ARG_CORS_HEADERS"));
  out.push_back(with(on_off("--cors-credentials,!--no-cors-credentials",
                            "Pages may send credentials; default: they may not",
                            server_switch(&Options::cors_credentials)),
                     "LLAMA_ARG_CORS_CREDENTIALS"));
  out.push_back(with(
      number<int>(
          "--timeout", {0, kLongest},
          "Seconds for a body to come, and for a write that stands still; default: 3600",
          [](ServeFlags& flags, int n) { flags.server.limits.timeout = std::chrono::seconds(n); }),
      "LLAMA_ARG_TIMEOUT", "-to"));
  out.push_back(with(number<int>("--sse-ping-interval", {-1, kLongest},
                                 "Streams show that they live after so many seconds; -1 and 0 = "
                                 "never; default: 30",
                                 [](ServeFlags& flags, int n) {
                                   flags.server.ping = std::chrono::seconds(std::max(n, 0));
                                 }),
                     "LLAMA_ARG_SSE_PING_INTERVAL"));
  out.push_back(with(number<int>("--threads-http", {-1, 1024},
                                 "Threads that read requests; -1 and 0, the default: one per core",
                                 [](ServeFlags& flags, int n) {
                                   flags.server.n_threads = static_cast<uint32_t>(std::max(n, 0));
                                 }),
                     "LLAMA_ARG_THREADS_HTTP"));
  out.push_back(
      number<uint32_t>("--queue", {1, 1'000'000},
                       "Texts that may wait or run; beyond them requests are refused; default: 512",
                       [](ServeFlags& flags, uint32_t n) { flags.server.queue = n; }));
  out.back().ollama = "OLLAMA_MAX_QUEUE";
  out.push_back(number<uint32_t>(
      "--max-body", {1, 4096}, "Largest body of a request in MiB; default: 64",
      [](ServeFlags& flags, uint32_t mib) { flags.server.limits.body_bytes = size_t{mib} << 20; }));
  out.push_back(
      number<int>("--drain", {0, kLongest},
                  "Seconds that what is under way has to end after SIGTERM; default: 30",
                  [](ServeFlags& flags, int n) { flags.drain = std::chrono::seconds(n); }));
  return out;
}

}  // namespace

std::span<const Flag> listening_flags() {
  static const std::vector<Flag> kRows = listening_rows();
  return kRows;
}

}  // namespace puna::cli::serve

namespace puna::cli {

base::Result<std::vector<std::string>> read_keys(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) return base::fail(base::ErrorCode::kNotFound, "The file cannot be read.");
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    if (!line.empty() && !line.starts_with('#')) keys.push_back(line);
  }
  if (file.bad() || keys.empty())
    return base::fail(base::ErrorCode::kUsage, "The file has no keys.");
  return keys;
}

}  // namespace puna::cli
