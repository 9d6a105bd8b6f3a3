// The HTTP client of a build without libcurl: refuses every request.
#include <fmt/format.h>

#include "io/http/http_client.h"

namespace puna::io {

struct HttpPool::State {
  std::vector<std::pair<std::string, Done>> refused;  // URLs
};

HttpPool::HttpPool() : state_(std::make_unique<State>()) {}
HttpPool::~HttpPool() = default;

void HttpPool::start(HttpRequest request, HttpSink, Done done) {
  state_->refused.emplace_back(std::move(request.url), std::move(done));
}

void HttpPool::wait(int) {
  auto refused = std::move(state_->refused);
  state_->refused.clear();
  for (auto& [url, done] : refused) {
    done(base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("This build has no HTTP client, so it cannot ask {}.", url)));
  }
}

size_t HttpPool::running() const { return state_->refused.size(); }

void HttpPool::clear() { state_->refused.clear(); }

}  // namespace puna::io
