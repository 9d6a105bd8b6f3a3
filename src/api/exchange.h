// Exchange: what an endpoint makes of one request from outside, as data. No sockets: a server or a
// page carries the bytes (server/routes.cpp lists the endpoints). Read next: model_source.h,
// fields.h, and openai/chat.h as an example.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/errors.h"
#include "api/model_source.h"
#include "api/store_source.h"
#include "api/web_store.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "service/model.h"
#include "service/prepare.h"
#include "service/request.h"

namespace puna::api {

struct HttpRequest {
  std::string method;                                        // "POST"
  std::string path;                                          // without the query, percent-decoded
  std::vector<std::pair<std::string, std::string>> query;    // decoded, in their order
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::vector<std::string> path_values;  // of the {…} in the route's path, in their order
  // Who asks, for what is kept for clients: SHA-256 of the API key as hex digits; empty where no
  // key is asked for.
  std::string owner;

  // The first of that name; null when there is none.
  const std::string* query_value(std::string_view name) const;
  const std::string* header(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};

  static HttpReply json(const base::Json& body, int status = 200) {
    return {status, "application/json", body.dump()};
  }
};

// Writes what texts bring in the form of a dialect, as frames of a stream or as one body. A stream
// is begin(), then next() for every event and end() behind the last of each text, in any order of
// texts, then finish(); fail() may come in place of anything after begin() and ends it. Events that
// tell of a prompt may come before begin(), whose frames then are before theirs. One thread at a
// time.
class Writer {
 public:
  virtual ~Writer() = default;

  virtual std::string_view content_type() const { return "text/event-stream"; }
  // Further headers of a stream; whole() has them in its reply.
  virtual std::vector<std::pair<std::string, std::string>> headers() const { return {}; }
  virtual std::string begin() { return {}; }
  // What a text is written from; before anything else of a stream or a whole.
  virtual void set_prompt(size_t /*text*/, const service::Prepared& /*prepared*/) {}
  // The slot of a text (slot_table.h); before any next() or end() of it, unless it has none yet.
  virtual void set_slot(size_t /*text*/, uint32_t /*slot*/) {}
  virtual std::string next(size_t text, const service::Event& event) = 0;
  virtual std::string end(size_t text, const service::Reply& reply) = 0;
  virtual std::string finish() = 0;
  virtual std::string fail(const base::Error& error) = 0;
  // Shows a client that the connection lives while there is nothing to say; empty: this dialect
  // has no way to.
  virtual std::string ping() { return ": ping\n\n"; }

  // In place of a stream: all texts as one body.
  virtual HttpReply whole(std::vector<service::Reply> replies) = 0;
};

// Texts to be written, beside each other.
struct Texts {
  std::vector<service::Request> requests;
  std::unique_ptr<Writer> writer;
  bool stream = false;
  std::optional<int> ping_seconds = {};  // of this stream; 0: never; none: as the server does
  std::optional<uint32_t> slot = {};     // that they are written in, in turn; none: any
};

// What a job does. One that takes several steps is called with `left` too, looks at it between them
// and ends as kCancelled once its client has gone.
class JobRun {
 public:
  using Done = base::Task<base::Result<HttpReply>>;

  JobRun() = default;
  template <std::invocable<service::LoadedModel&> Run>
  JobRun(Run run)
      : run_([run = std::move(run)](service::LoadedModel& model, const std::atomic<bool>&) {
          return run(model);
        }) {}
  template <std::invocable<service::LoadedModel&, const std::atomic<bool>&> Run>
  JobRun(Run run) : run_(std::move(run)) {}

  // Both outlive the task, and so does this.
  Done operator()(service::LoadedModel& model, const std::atomic<bool>& left) const {
    return run_(model, left);
  }

 private:
  std::function<Done(service::LoadedModel& model, const std::atomic<bool>& left)> run_;
};

// Work on the thread of the engine, between two steps (service::Host::post_job).
struct Job {
  JobRun run;
  uint64_t n_tokens = 0;           // that it evaluates
  std::vector<int32_t> text = {};  // that it is about: it is done where most of this is known
};

// Work that takes long and needs no model: on a thread of its own, until its client leaves. Each of
// its lines is written as it comes, or the last alone.
struct LongWork {
  // `write`: any line, of the working thread. Its errors are the end of it.
  std::function<base::Result<void>(const std::function<void(const base::Json& line)>& write,
                                   const std::atomic<bool>& cancelled)>
      run;
  bool stream = true;
};

using Exchange = std::variant<HttpReply, Texts, Job, LongWork>;

// What an endpoint is called with.
struct Call {
  const HttpRequest& http;
  const base::Json& body;    // null where there is none
  const ServedModel* model;  // of the route, where it names one (routes.h); else null
  const ModelSource& models;
  StoreSource* store = nullptr;   // null: there is none
  WebStore* web_store = nullptr;  // null: there is none
  double load_ms = 0;             // that the request has waited for its model
};

// On any thread but the engine's; pure but for what it reads of the model. Errors become a reply in
// the dialect's form (errors.h).
using Endpoint = base::Result<Exchange> (*)(const Call& call);

// What answers a request that names a model before the model is looked for, which may load it; an
// empty one: nothing yet. `call.model` is null.
using Before = base::Result<std::optional<HttpReply>> (*)(const Call& call);

// "data: {…}\n\n", with "event: name\n" before it where there is a name.
std::string sse(const base::Json& data, std::string_view event = {});
// One JSON document and a line feed.
std::string ndjson(const base::Json& data);

}  // namespace puna::api
