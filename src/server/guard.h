// Who may ask for what: keys, names of hosts, origins of pages.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/exchange.h"
#include "server/options.h"
#include "server/wire.h"

namespace puna::server {

class Guard {
 public:
  explicit Guard(const Options& options) : options_(options) { set_keys(options_.api_keys); }

  // Any thread. From now on these are the keys; none: everybody is let in. Keys that were there
  // keep their numbers, and nobody gets that of one that is gone.
  void set_keys(const std::vector<std::string>& keys);
  // Whether there are several.
  bool has_several_keys() const;

  // Whether the Host header is one that a page of somebody else cannot have: a name that was
  // rebound to this machine is none of ours.
  bool knows_host(const Incoming& incoming) const;
  struct Client {
    size_t key = 0;       // its number; 0 where none is asked for
    std::string owner{};  // as HttpRequest has it
  };
  // By the key that came with a request ("Authorization: Bearer", "x-api-key"); none when it is
  // wrong. Takes as long for any wrong key as for any other.
  std::optional<Client> client_of(const api::HttpRequest& request) const;

  enum class Origin {
    kNone,     // no browser, or one that says nothing
    kAllowed,  // our own page, or of one of the origins that were named
    kForeign,
  };
  Origin origin_of(const api::HttpRequest& request) const;
  // That a browser wants to see before it shows an answer to a page of an allowed origin.
  std::vector<std::pair<std::string, std::string>> cors_headers(
      const api::HttpRequest& request) const;
  // What it asks before it sends a request.
  static bool is_preflight(const api::HttpRequest& request);
  api::HttpReply preflight(const api::HttpRequest& request) const;

 private:
  struct Key {
    std::string text;
    Client client{};
  };

  Options options_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Key> keys_;
  size_t n_numbers_ = 0;
};

// Whether a browser sends it: others have neither of these headers.
bool is_from_browser(const api::HttpRequest& request);
// application/json, or any with +json at its end.
bool is_json(std::string_view content_type);

}  // namespace puna::server
