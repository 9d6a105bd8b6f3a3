// ResponseReader: HTTP/1.1 as it comes from a server that answers one request (parsed by
// Boost.Beast).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace puna::server {

class ResponseReader {
 public:
  // `head_only`: the answer to a HEAD request, which has no body whatever it says.
  explicit ResponseReader(bool head_only);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  // What has come. False: it is no HTTP, and nothing more of it can be read.
  bool put(std::string_view bytes);

  bool has_head() const;
  bool done() const;
  // From here on, once there is a head:
  int status() const;
  // Whether it comes in pieces, as it is made.
  bool is_stream() const;
  // Names in lower case; once it is done, with those behind the last piece.
  std::vector<std::pair<std::string, std::string>> headers() const;
  // Of the body, what was not taken yet.
  std::string take_body();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string in_;  // has come, and was not parsed
};

}  // namespace puna::server
