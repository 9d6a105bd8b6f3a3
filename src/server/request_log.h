// One line a request: what was asked and how it ended, never what was said.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "server/wire.h"

namespace puna::server {

struct RequestOutcome {
  int status = 0;  // 499: the client has left before there was one
  std::string model;
  std::optional<uint64_t> n_prompt, n_cached, n_generated;
};

class RequestLog {
 public:
  // `silent`: whoever has asked for others writes the lines.
  RequestLog(std::function<void(const base::Json&)> on_request, bool silent)
      : on_request_(std::move(on_request)), silent_(silent) {}

  // Any thread.
  void write(const Incoming& incoming, const RequestOutcome& outcome);

 private:
  const std::function<void(const base::Json&)> on_request_;
  const bool silent_;
  std::mutex mutex_;
};

}  // namespace puna::server
