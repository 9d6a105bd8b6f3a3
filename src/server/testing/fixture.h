// A server with a model without weights and a few endpoints, for tests.
#pragma once

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/llama/completion.h"
#include "api/llama/slots.h"
#include "api/model_source.h"
#include "api/ollama/models.h"
#include "api/ollama/stored.h"
#include "server/server.h"
#include "server/testing/client.h"
#include "service/host_thread.h"
#include "service/testing/fake_model.h"

namespace puna::server::test {

using base::Json;

// {"prompt": tokens of it, "seed", "n_tokens", "n", "stream", "pad", "pings"}: each token as a
// frame of its own, " 17" behind `pad` hyphens; the frames of the second text begin with its
// number.
class TokenWriter final : public api::Writer {
 public:
  TokenWriter(size_t pad, bool pings) : pad_(pad, '-'), ping_(pings ? "." : "") {}

  std::vector<std::pair<std::string, std::string>> headers() const override {
    return {{"X-Pad", std::to_string(pad_.size())}};
  }
  std::string begin() override {
    begun_ = true;
    return "<";
  }
  std::string next(size_t text, const service::Event& event) override {
    if (!begun_) return "[next() before begin()]";
    if (event.prompt) return {};
    return fmt::format("{}{} {}", pad_, text > 0 ? fmt::format("/{}", text) : "", event.token);
  }
  std::string end(size_t, const service::Reply& reply) override {
    return fmt::format(" ({})", reply.tokens.size());
  }
  std::string finish() override { return ">"; }
  std::string fail(const base::Error& error) override { return "failed: " + error.text(); }
  std::string ping() override { return ping_; }
  api::HttpReply whole(std::vector<service::Reply> replies) override {
    Json out = Json::array();
    for (const auto& reply : replies) {
      Json tokens = Json::array();
      for (const int32_t id : reply.tokens) tokens.push(id);
      out.push(std::move(tokens));
    }
    return api::HttpReply::json(out);
  }

 private:
  const std::string pad_, ping_;
  bool begun_ = false;
};

inline int64_t number(const Json& body, std::string_view name, int64_t otherwise) {
  const Json* value = body.find(name);
  return value ? value->integer() : otherwise;
}

// Requests for texts that were read, of all servers.
inline std::atomic<uint32_t> n_write_calls = 0;

inline base::Result<api::Exchange> write_texts(const api::Call& call) {
  ++n_write_calls;
  api::Texts out;
  for (int64_t i = 0; i < number(call.body, "n", 1); ++i) {
    service::Request request;
    request.tokens = service::test::prompt(static_cast<size_t>(number(call.body, "prompt", 5)),
                                           static_cast<uint32_t>(number(call.body, "seed", 1) + i));
    request.sampling.temperature = 0;
    request.max_tokens = static_cast<uint32_t>(number(call.body, "n_tokens", 3));
    request.ignore_end = true;
    out.requests.push_back(std::move(request));
  }
  out.stream = number(call.body, "stream", 0) != 0;
  out.writer = std::make_unique<TokenWriter>(static_cast<size_t>(number(call.body, "pad", 0)),
                                             number(call.body, "pings", 1) != 0);
  return out;
}
inline base::Result<api::Exchange> echo(const api::Call& call) {
  Json values = Json::array();
  for (const std::string& value : call.http.path_values) values.push(value);
  Json query = Json::object();
  for (const auto& [name, value] : call.http.query) query.set(name, value);
  Json out = Json::object();
  out.set("path", call.http.path).set("values", std::move(values)).set("query", std::move(query));
  out.set("body", call.body).set("model", call.model ? Json(call.model->id) : Json());
  return api::HttpReply::json(out);
}
inline base::Result<api::Exchange> job(const api::Call&) {
  const auto run = [](service::LoadedModel& model) -> base::Task<base::Result<api::HttpReply>> {
    co_return api::HttpReply::json(Json::object().set("job", model.name));
  };
  return api::Job{.run = run, .n_tokens = 7};
}
// Steps of jobs that go on until their clients leave, of all servers.
inline std::atomic<uint32_t> n_endless_steps = 0;

inline base::Result<api::Exchange> endless_job(const api::Call&) {
  const auto run = [](service::LoadedModel&,
                      const std::atomic<bool>& left) -> base::Task<base::Result<api::HttpReply>> {
    for (; !left; ++n_endless_steps) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    co_return base::fail(base::ErrorCode::kCancelled, "Its client has left.");
  };
  return api::Job{.run = run};
}
inline base::Result<api::Exchange> refuse(const api::Call&) {
  return base::fail(base::ErrorCode::kInvalidArgument,
                    "The file \"/home/somebody/models/a.gguf\" is no model.");
}

using api::Dialect;
constexpr std::array kTestRoutes = {
    Route{"GET", "/health", Dialect::kLlama, Own::kHealth, ModelName::kNone, Key::kPublic},
    Route{"GET", "/livez", Dialect::kLlama, Own::kLive, ModelName::kNone, Key::kPublic},
    Route{"GET", "/metrics", Dialect::kLlama, Own::kMetrics},
    Route{"GET", "/v1/loads", Dialect::kLlama, Own::kLoads},
    Route{"GET", "/v1/things/{id}", Dialect::kOpenAi, echo},
    Route{"DELETE", "/v1/things/{id}", Dialect::kOpenAi, echo},
    Route{"GET", "/v1/models/{id...}", Dialect::kOpenAi, echo, ModelName::kPath},
    Route{"POST", "/v1/echo", Dialect::kOpenAi, echo, ModelName::kBody},
    Route{"POST", "/api/echo", Dialect::kOllama, echo, ModelName::kBody},
    Route{"POST", "/v1/messages", Dialect::kAnthropic, echo, ModelName::kBody},
    Route{"POST", "/change", Dialect::kLlama, echo, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"POST", "/write", Dialect::kOpenAi, write_texts, ModelName::kBody},
    Route{"POST", "/job", Dialect::kOpenAi, job, ModelName::kBody},
    Route{"POST", "/endless-job", Dialect::kOpenAi, endless_job, ModelName::kBody},
    Route{"POST", "/refuse", Dialect::kOpenAi, refuse},
    Route{"POST", "/completion", Dialect::kLlama, api::llama::completion, ModelName::kBody},
    Route{"GET", "/slots", Dialect::kLlama, api::llama::slots, ModelName::kQuery},
    Route{"POST", "/slots/{id}", Dialect::kLlama, api::llama::change_slot, ModelName::kBody,
          Key::kNeeded, Effect::kChanges},
    Route{"GET", "/api/tags", Dialect::kOllama, api::ollama::tags},
    Route{"POST", "/api/copy", Dialect::kOllama, api::ollama::copy},
    Route{"POST", "/api/pull", Dialect::kOllama, api::ollama::pull},
    Route{"GET", "/api/blobs/{digest}", Dialect::kOllama, api::ollama::blob},
    Route{"POST", "/api/blobs/{digest}", Dialect::kOllama, Uploads::kBlob},
    Route{"GET", "/v1/stream", Dialect::kLlama, Streams::kRead},
    Route{"DELETE", "/v1/stream", Dialect::kLlama, Streams::kStop, ModelName::kNone, Key::kNeeded,
          Effect::kChanges},
    Route{"POST", "/v1/streams/lookup", Dialect::kLlama, Streams::kLookup},
};

inline Options quick() {
  Options out;
  out.listen = {{"127.0.0.1", 0}};
  out.n_threads = 2;
  return out;
}

class Fixture {
 public:
  explicit Fixture(const Options& options = quick(), const service::test::FakeSetup& setup = {},
                   service::HostOptions host_options = {}, const std::string& slot_folder = "")
      : host(with_gate(setup, this), host_options),
        models(served(host, setup.n_sequences, slot_folder)) {
    auto listening = Server::listen(options, kTestRoutes);
    REQUIRE_MESSAGE(listening.has_value(), (listening ? "" : listening.error().text()));
    server_ = *std::move(listening);
    server_->serve(models);
  }
  ~Fixture() {
    open_gate();
    server_->stop();
  }

  Server& server() { return *server_; }
  uint16_t port() const { return server_->addresses().at(0).port; }
  Client client() const {
    const auto& address = server_->addresses().at(0);
    return address.port > 0 ? Client(address.port) : Client(address.host);
  }
  Reply ask(std::string_view text) const { return client().ask(text); }

  // While it is closed, no step of the engine begins.
  void close_gate() {
    gate_.lock();
    closed_ = true;
  }
  void open_gate() {
    if (std::exchange(closed_, false)) gate_.unlock();
  }

  // Whether nothing is left of any text, in the host and before it.
  bool at_rest() const {
    const service::HostStatus status = host.status();
    const Json loads = *Json::parse(ask(get("/v1/loads")).body);
    const Json& all = *loads.find("aggregate");
    return status.n_running + status.n_waiting + status.n_held + status.n_jobs == 0 &&
           status.n_pages_in_use == 0 && all.find("total_reqs")->integer() == 0;
  }

 private:
  std::mutex gate_;
  bool closed_ = false;

  static service::LoadedModel with_gate(service::test::FakeSetup setup, Fixture* self) {
    setup.fails = [self, fails = setup.fails] {
      const std::lock_guard pass(self->gate_);
      return fails && fails();
    };
    return std::move(service::test::fake_model(setup).model);
  }
  static api::ServedModel served(service::Host& host, uint32_t n_texts,
                                 const std::string& slot_folder) {
    api::ServedModel out;
    out.id = "fake";
    out.aliases = {"fake", "org/fake"};
    out.n_texts = n_texts;
    out.slot_folder = slot_folder;
    out.hosts = std::make_shared<service::Hosts>(host);
    return out;
  }

 public:
  service::HostThread host;
  api::OneModel models;

 private:
  std::unique_ptr<Server> server_;
};

// What a stream of the writer above looks like.
inline std::string stream_of(size_t n_prompt, uint32_t seed, size_t n_tokens, size_t pad = 0) {
  std::string out = "<";
  for (const int32_t id : service::test::continued(service::test::prompt(n_prompt, seed), n_tokens))
    out += fmt::format("{} {}", std::string(pad, '-'), id);
  return out + fmt::format(" ({})>", n_tokens);
}

}  // namespace puna::server::test
