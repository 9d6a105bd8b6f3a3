#include "server/request_log.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/log.h"
#include "base/printable.h"

namespace puna::server {
namespace {

constexpr size_t kLongestPath = 200;  // of which more says nothing

}  // namespace

void RequestLog::write(const Incoming& incoming, const RequestOutcome& outcome) {
  if (silent_) return;
  const double ms = std::round(incoming.since_head.ms() * 10) / 10;
  const std::string& whole_path = incoming.http.path.empty() ? incoming.target : incoming.http.path;
  const std::string_view path = std::string_view(whole_path).substr(0, kLongestPath);
  if (base::log_enabled(base::LogLevel::kInfo)) {
    std::string tokens;
    if (outcome.n_generated) {
      tokens = fmt::format(", {}+{} prompt and {} new tokens", outcome.n_prompt.value_or(0),
                           outcome.n_cached.value_or(0), *outcome.n_generated);
    }
    base::log_info("{} {} {} {} ms{} [{}]", base::printable(incoming.http.method),
                   base::printable(path), outcome.status, ms, tokens, base::printable(incoming.id));
  }
  if (!on_request_) return;
  base::Json line = base::Json::object();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  line.set("time", std::chrono::duration<double>(now).count())
      .set("method", incoming.http.method)
      .set("path", path)
      .set("status", outcome.status)
      .set("ms", ms)
      .set("id", incoming.id);
  if (!incoming.peer.address.empty()) line.set("client", incoming.peer.address);
  if (!outcome.model.empty()) line.set("model", outcome.model);
  if (outcome.n_prompt) line.set("prompt_tokens", *outcome.n_prompt);
  if (outcome.n_cached) line.set("cached_tokens", *outcome.n_cached);
  if (outcome.n_generated) line.set("generated_tokens", *outcome.n_generated);
  const std::lock_guard lock(mutex_);
  on_request_(line);
}

}  // namespace puna::server
