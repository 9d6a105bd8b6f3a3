// Talks to a running server in Ollama's dialect: JSON there, JSON or lines of JSON back. A key is
// taken from PUNA_API_KEY. Ctrl-C ends what is under way.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/client/address.h"

namespace puna::cli {

class Client {
 public:
  explicit Client(ServerAddress server) : server_(std::move(server)) {}

  const ServerAddress& server() const { return server_; }

  // The whole answer; a null body is a GET. Errors: kNetwork (no server answers; it fails), what
  // the server says otherwise (kNotFound for 404, kUnsupported for 501, kInvalidArgument for other
  // statuses of 4xx), kCorrupt for an answer that is no JSON, kCancelled.
  base::Result<base::Json> ask(std::string_view path, const base::Json& body = {}) const;
  // Each line as it comes. Errors: as above; of a line {"error": ...} kNetwork; those of on_line.
  base::Result<void> stream(
      std::string_view path, const base::Json& body,
      const std::function<base::Result<void>(const base::Json&)>& on_line) const;

  // Whether a server answers there; it is not waited for long. Errors: as of ask().
  base::Result<void> answers() const;

 private:
  base::Result<std::string> send(
      std::string_view path, const base::Json& body, int stall_s,
      const std::function<base::Result<void>(std::string_view)>& on_piece) const;

  ServerAddress server_;
};

// The first address at which a server answers. Errors: kUsage for a wrong address; kNetwork that
// says where there is none, and how one is started.
base::Result<Client> find_server(const std::string& host);

// The key for servers; empty: none.
std::string api_key();

}  // namespace puna::cli
