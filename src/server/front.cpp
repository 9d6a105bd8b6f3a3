#include "server/front.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <utility>

#include "api/form_body.h"
#include "server/forward.h"
#include "server/openapi.h"
#include "server/sockets.h"
#include "server/target.h"
#include "server/transaction.h"
#include "server/upload.h"

namespace puna::server {

using api::HttpReply;
using base::Json;

namespace {

constexpr size_t kLongestId = 128;

// Routes that whoever runs the server switches on and off.
struct Switch {
  std::string_view method, path;
  bool Options::* on;
  std::string_view flag;
};
constexpr Switch kSwitches[] = {
    {"GET", "/metrics", &Options::metrics, "--metrics"},
    {"GET", "/slots", &Options::slots, "--slots"},
    {"POST", "/slots/{id}", &Options::slots, "--slots"},
    {"POST", "/props", &Options::props, "--props"},
};

// A client's own, where it is one that a log can show; else a random one.
std::string request_id(const api::HttpRequest& request) {
  const std::string* given = request.header("x-request-id");
  const auto fits = [](char c) { return c > ' ' && c < 0x7f; };
  if (given && !given->empty() && given->size() <= kLongestId && std::ranges::all_of(*given, fits))
    return *given;
  thread_local std::mt19937_64 random{std::random_device()()};
  return fmt::format("{:016x}", random());
}

// Whether `path` begins with the parts of `prefix`; then they are taken away.
bool take_prefix(std::string_view prefix, Target& target) {
  const auto wanted = parse_target(prefix);
  if (prefix.empty() || !wanted) return true;
  auto& parts = target.segments;
  const size_t n = wanted->segments.size();
  if (parts.size() <= n ||
      !std::equal(wanted->segments.begin(), wanted->segments.end(), parts.begin()))
    return false;
  parts.erase(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(n));
  target.path.clear();
  for (const std::string& part : parts) target.path += "/" + part;
  return true;
}

// The page of llama-server asks at its start, and takes this for an answer.
HttpReply disabled() {
  Json error = Json::object();
  error.set("code", 403).set("message", "this feature is disabled").set("type", "feature_disabled");
  return HttpReply::json(Json::object().set("error", std::move(error)), 403);
}

}  // namespace

Front::Front(std::shared_ptr<Core> core, std::span<const Route> routes)
    : core_(std::move(core)), routes_(routes), page_(core_->options.page) {
  core_->answer = [this](Own own) { return answer(own); };
}

std::optional<HttpReply> Front::check(Incoming& incoming) {
  incoming.id = request_id(incoming.http);
  incoming.reply_headers.emplace_back("X-Request-Id", incoming.id);
  if (auto reply = read_target(incoming)) return reply;
  if (auto reply = check_origin(incoming)) return reply;
  if (auto reply = find_route(incoming)) return reply;
  if (auto reply = check_rights(incoming)) return reply;
  if (auto reply = check_switches(incoming)) return reply;
  const auto* own = std::get_if<Own>(&incoming.route->handler);
  // What is asked of one model is asked of whoever runs it.
  const bool of_model =
      incoming.route->model == ModelName::kQuery && incoming.http.query_value("model") != nullptr;
  if (own && !of_model) return answer(*own);
  return check_readiness(incoming);
}

std::optional<HttpReply> Front::read_target(Incoming& incoming) const {
  auto target = parse_target(incoming.target);
  if (!target) {
    incoming.dialect = dialect_of(incoming.target);
    return error_reply(incoming.dialect, 400, "The request's path cannot be read.");
  }
  const std::string& prefix = core_->options.api_prefix;
  if (!core_->options.page.empty() && !prefix.empty() && target->path == prefix) {
    // What the page names is beside it.
    HttpReply out{.status = 308, .content_type = "", .body = ""};
    out.headers.emplace_back("Location", prefix + "/");
    return out;
  }
  const bool ours = take_prefix(prefix, *target);
  incoming.http.path = target->path;
  incoming.http.query = std::move(target->query);
  incoming.dialect = dialect_of(target->path);
  if (!ours) return error_reply(incoming.dialect, 404, "There is nothing at this path.");
  // Of the route, until it is found.
  incoming.http.path_values = std::move(target->segments);
  return {};
}

std::optional<HttpReply> Front::check_origin(Incoming& incoming) const {
  const api::HttpRequest& http = incoming.http;
  if (!core_->guard.knows_host(incoming)) {
    return error_reply(incoming.dialect, 403,
                       "The Host is no name of this server; --hosts adds further ones.");
  }
  for (auto& header : core_->guard.cors_headers(http))
    incoming.reply_headers.push_back(std::move(header));
  if (Guard::is_preflight(http)) return core_->guard.preflight(http);
  return {};
}

std::optional<HttpReply> Front::find_route(Incoming& incoming) const {
  api::HttpRequest& http = incoming.http;
  Match match = server::find_route(routes_, http.method, std::exchange(http.path_values, {}));
  const bool is_free = !match.route && match.allow.empty();
  if (is_free || http.path == "/") {
    if (auto reply = page_.answer(http)) return reply;
  }
  if (is_free) {
    return error_reply(incoming.dialect, 404, fmt::format("There is nothing at {}.", http.path));
  }
  if (!match.route) {
    HttpReply out = http.method == "OPTIONS"
                        ? HttpReply{.status = 204, .content_type = "", .body = ""}
                        : error_reply(incoming.dialect, 405,
                                      fmt::format("{} is not possible at {}; {} are.", http.method,
                                                  http.path, match.allow));
    out.headers.emplace_back("Allow", std::move(match.allow));
    return out;
  }
  incoming.route = match.route;
  incoming.dialect = match.route->dialect;
  http.path_values = std::move(match.path_values);
  return {};
}

std::optional<HttpReply> Front::check_rights(Incoming& incoming) const {
  api::HttpRequest& http = incoming.http;
  const Route& route = *incoming.route;
  auto client = core_->guard.client_of(http);
  if (!client && route.key == Key::kNeeded) {
    HttpReply out = error_reply(incoming.dialect, 401, "The request has no valid API key.");
    out.headers.emplace_back("WWW-Authenticate", "Bearer");
    return out;
  }
  const bool posts = http.method != "GET" && http.method != "HEAD";
  if (core_->guard.origin_of(http) == Guard::Origin::kForeign &&
      (posts || route.effect == Effect::kChanges)) {
    return error_reply(incoming.dialect, 403,
                       "Pages of this origin may not use the server; --cors-origins adds some.");
  }
  const std::string* type = http.header("content-type");
  const bool fits = type && (route.form ? api::form_boundary(*type).has_value() : is_json(*type));
  if (http.method == "POST" && is_from_browser(http) && !fits) {
    return error_reply(incoming.dialect, 415,
                       fmt::format("The Content-Type of a page's request has to be {}.",
                                   route.form ? "multipart/form-data" : "application/json"));
  }
  incoming.key = client ? client->key : 0;
  if (client) http.owner = std::move(client->owner);
  const std::string* const whose = http.header(kClientHeader);
  if (core_->options.behind_server && whose) {
    incoming.client = *whose;
    return {};
  }
  incoming.client = incoming.key > 0 && core_->guard.has_several_keys()
                        ? fmt::format("key {}", incoming.key)
                        : fmt::format("connection {}", incoming.peer.id);
  return {};
}

std::optional<HttpReply> Front::check_switches(const Incoming& incoming) const {
  for (const Switch& each : kSwitches) {
    if (incoming.route->method != each.method || incoming.route->path != each.path) continue;
    if (core_->options.*each.on) return {};
    return error_reply(
        incoming.dialect, 501,
        fmt::format("{} {} is off; {} turns it on.", each.method, each.path, each.flag));
  }
  return {};
}

std::optional<HttpReply> Front::check_readiness(const Incoming& incoming) const {
  if (core_->draining) {
    HttpReply out = error_reply(incoming.dialect, 503, "The server is being shut down.");
    out.headers.emplace_back("Retry-After", "5");
    return out;
  }
  if (core_->models.load()) return {};
  return error_reply(incoming.dialect, 503, "Loading model");
}

std::vector<api::ModelLease> Front::models() const {
  const api::ModelSource* source = core_->models.load();
  return source ? source->loaded() : std::vector<api::ModelLease>();
}

std::vector<api::ModelStatus> Front::known_models() const {
  const api::ModelSource* source = core_->models.load();
  return source && source->control() ? source->list() : std::vector<api::ModelStatus>();
}

HttpReply Front::answer(Own own) const {
  switch (own) {
    case Own::kHealth:
      if (core_->draining) return error_reply(api::Dialect::kLlama, 503, "Shutting down");
      if (!core_->models.load()) return error_reply(api::Dialect::kLlama, 503, "Loading model");
      [[fallthrough]];
    case Own::kLive:
      return HttpReply::json(Json::object().set("status", "ok"));
    case Own::kMetrics: {
      HttpReply out{.status = 200, .content_type = "text/plain; version=0.0.4", .body = ""};
      out.body = core_->metrics.text({.n_connections = sockets_ ? sockets_->n_connections() : 0,
                                      .n_unread = static_cast<uint32_t>(core_->pool.n_waiting()),
                                      .n_waiting = core_->admission.n_waiting(),
                                      .models = models(),
                                      .known = known_models()});
      out.headers.emplace_back("Process-Start-Time-Unix", std::to_string(core_->metrics.started()));
      return out;
    }
    case Own::kLoads:
      return loads();
    case Own::kOpenApi:
      std::call_once(openapi_made_,
                     [this] { openapi_ = openapi(routes_, core_->options.api_prefix).dump(); });
      return {.body = openapi_};
    case Own::kDisabled:
      return disabled();
  }
  return error_reply(api::Dialect::kLlama, 500, "This route has no answer.");
}

// As SGLang has it, whose workers gateways ask for their load; each model is a "rank". What no
// model was given yet waits for the first.
HttpReply Front::loads() const {
  Json list = Json::array();
  int64_t n_models = 0, n_running = 0, n_waiting = 0, n_used = 0;
  double usage = 0;
  int64_t n_queued = core_->admission.n_waiting();
  for (const api::ModelLease& model : models()) {
    const service::HostStatus status = model->status();
    const int64_t waiting = status.n_waiting + std::exchange(n_queued, 0);
    const int64_t used = int64_t{status.n_pages_in_use} * status.page_tokens;
    const int64_t most = int64_t{status.n_pages} * status.page_tokens;
    const double share = most == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(most);
    list.push(Json::object()
                  .set("dp_rank", n_models++)
                  .set("model", model->id)
                  .set("num_running_reqs", status.n_running)
                  .set("num_waiting_reqs", waiting)
                  .set("num_total_reqs", status.n_running + waiting)
                  .set("num_used_tokens", used)
                  .set("max_total_num_tokens", most)
                  .set("token_usage", share)
                  .set("max_running_requests", model->n_texts));
    n_running += status.n_running;
    n_waiting += waiting;
    n_used += used;
    usage += share;
  }
  Json all = Json::object();
  all.set("total_running_reqs", n_running)
      .set("total_waiting_reqs", n_waiting)
      .set("total_reqs", n_running + n_waiting)
      .set("total_used_tokens", n_used)
      .set("avg_token_usage", n_models == 0 ? 0.0 : usage / static_cast<double>(n_models));
  const std::string now = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return HttpReply::json(Json::object()
                             .set("timestamp", now)
                             .set("version", "puna")
                             .set("dp_rank_count", n_models)
                             .set("loads", std::move(list))
                             .set("aggregate", std::move(all)));
}

std::optional<HttpReply> Front::open_sink(Incoming& incoming, std::function<void()> room) {
  if (!std::holds_alternative<Uploads>(incoming.route->handler)) return {};
  api::StoreSource* const store = core_->store.load();
  if (!store) return error_reply(incoming.dialect, 501, "this server keeps no models");
  // What is no digest is not waited for.
  if (const auto there = store->has_blob(incoming.http.path_values.at(0)); !there)
    return error_reply(incoming.dialect, there.error());
  incoming.sink = Upload::start(*core_, *store, incoming, std::move(room));
  if (incoming.sink) return {};
  HttpReply out = error_reply(incoming.dialect, 503, kTooManyWorks);
  out.headers.emplace_back("Retry-After", "5");
  return out;
}

void Front::handle(Incoming incoming, std::shared_ptr<Responder> responder) {
  Transaction::start(core_, std::move(incoming), std::move(responder));
}

void Front::refused(const Incoming& incoming, int status) {
  core_->log.write(
      incoming, {.status = status, .model = {}, .n_prompt = {}, .n_cached = {}, .n_generated = {}});
  core_->metrics.count_request(incoming.http.method, incoming.route ? incoming.route->path : "",
                               status);
}

}  // namespace puna::server
