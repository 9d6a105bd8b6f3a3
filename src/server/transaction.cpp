#include "server/transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "api/form_body.h"
#include "api/ollama/time.h"
#include "api/outline.h"
#include "base/clock.h"
#include "base/task.h"
#include "server/forward.h"
#include "server/upload.h"

namespace puna::server {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr size_t kMostLookups = 1000;

base::Error cancelled() {
  return {ErrorCode::kInvalidArgument, "The request was cancelled before its text began.", {}};
}

}  // namespace

class Transaction::Waiting final : public Run {
 public:
  explicit Waiting(std::weak_ptr<Transaction> whose) : whose_(std::move(whose)) {}
  void start() override {}
  void go_on() override {}
  void ping() override {}
  void drop() override {
    if (const auto whose = whose_.lock()) whose->waiting_.reset();
  }
  void cancel() override { fail(cancelled()); }
  void fail(const base::Error& error) override {
    if (const auto whose = whose_.lock()) whose->stop_waiting(error);
  }

 private:
  const std::weak_ptr<Transaction> whose_;
};

void Transaction::start(std::shared_ptr<Core> core, Incoming incoming,
                        std::shared_ptr<Responder> responder) {
  const auto self =
      std::make_shared<Transaction>(std::move(core), std::move(incoming), std::move(responder));
  self->responder_->set_work(self);
  if (self->core_->pool.post(self->incoming_.client, [self] { self->read(); })) return;
  self->answer(
      busy_reply(self->incoming_.dialect, "Too many requests wait already; try again later."));
}

Transaction::Transaction(std::shared_ptr<Core> core, Incoming incoming,
                         std::shared_ptr<Responder> responder)
    : core_(std::move(core)), incoming_(std::move(incoming)), responder_(std::move(responder)) {
  core_->pending.begin();
}

Transaction::~Transaction() { core_->pending.end(); }

void Transaction::read() {
  const api::HttpRequest& http = incoming_.http;
  if (!http.body.empty() && http.method != "GET" && http.method != "HEAD") {
    auto body = read_body();
    if (!body) return answer(body.error());
    body_ = *std::move(body);
  }
  if (const auto* streams = std::get_if<Streams>(&incoming_.route->handler))
    return answer(*streams);
  if (std::holds_alternative<Uploads>(incoming_.route->handler)) return end_upload();
  if (incoming_.route->model == ModelName::kNone) return call(nullptr);
  if (const api::Before before = incoming_.route->before) {
    auto reply = before(call_of(nullptr));
    if (!reply) return answer(reply.error());
    if (*reply) return answer(**std::move(reply));
  }
  find_model();
}

Result<Json> Transaction::read_body() const {
  // Who wants which model for how long, and what is asked before a model is looked for.
  constexpr std::array<std::string_view, 6> kNeeded = {"model",    "keep_alive", "stream",
                                                       "messages", "prompt",     "suffix"};
  const std::string& body = incoming_.http.body;
  if (incoming_.route->form) {
    const std::string* const type = incoming_.http.header("content-type");
    const auto boundary = type ? api::form_boundary(*type) : std::nullopt;
    if (boundary) return api::read_form(body, *boundary);
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The Content-Type is \"{}\", but has to be multipart/form-data "
                                  "with a boundary.",
                                  type ? *type : ""));
  }
  const bool elsewhere =
      incoming_.route->model != ModelName::kNone && core_->models.load()->is_remote();
  return elsewhere ? api::outline(body, kNeeded) : Json::parse_strictly(body);
}

void Transaction::find_model() {
  const auto wish = model_wish();
  if (!wish) return answer(wish.error());
  // It may be loaded first, which takes its time: a client that was cut off comes back meanwhile.
  const Json* const stream = body_.find("stream");
  if (stream && *stream == Json(true)) {
    if (auto kept = keep_stream(); !kept) return answer(kept.error());
  }
  since_asked_ = {};
  auto waiting = core_->models.load()->acquire(
      *wish, [self = shared_from_this(), name = wish->name](Result<api::ModelLease> model) {
        self->has_model_ = true;
        if (!model) return self->refuse_model(name, model.error());
        self->load_ms_ = self->waited_elsewhere_ms() + self->since_asked_.ms();
        // It may have been loaded, which ends on another thread.
        self->core_->pool.go_on([self, model = *std::move(model)] { self->call(model); });
      });
  if (!waiting || has_model_) return;
  responder_->post([self = shared_from_this(), waiting = std::move(waiting)]() mutable {
    self->wait_for_model(std::move(waiting));
  });
}

void Transaction::refuse_model(std::string_view name, const base::Error& error) {
  const api::Dialect dialect = incoming_.dialect;
  answer(elsewhere_reply(dialect, error.code == ErrorCode::kNotFound
                                      ? api::no_such_model(dialect, name, error)
                                      : error));
}

double Transaction::waited_elsewhere_ms() const {
  const std::string* const told = incoming_.http.header(kLoadHeader);
  double ms = 0;
  if (told && core_->options.behind_server)
    std::from_chars(told->data(), told->data() + told->size(), ms);
  return ms;
}

void Transaction::wait_for_model(std::shared_ptr<void> waiting) {
  if (has_model_ || over_) return;
  waiting_ = std::move(waiting);
  costs_ = true;
  if (left_) left();
}

Result<api::ModelWish> Transaction::model_wish() const {
  api::ModelWish out;
  PUNA_TRY(out.name, model_name());
  out.use = incoming_.http.method != "GET" && incoming_.http.method != "HEAD";
  if (const std::string* autoload = incoming_.http.query_value("autoload")) {
    const bool on = *autoload == "true" || *autoload == "1";
    if (!on && *autoload != "false" && *autoload != "0") {
      return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("\"autoload\" is \"{}\", but has to be true or false.", *autoload));
    }
    out.autoload = on;
  }
  const Json* keep_alive =
      incoming_.dialect == api::Dialect::kOllama ? body_.find("keep_alive") : nullptr;
  if (keep_alive && !keep_alive->is_null()) {
    PUNA_TRY(out.keep_alive, api::ollama::read_keep_alive(*keep_alive));
  }
  return out;
}

api::Call Transaction::call_of(const api::ServedModel* model) const {
  return {.http = incoming_.http,
          .body = body_,
          .model = model,
          .models = *core_->models.load(),
          .store = core_->store.load(),
          .web_store = core_->web_store.load(),
          .load_ms = load_ms_};
}

Result<std::string> Transaction::model_name() const {
  switch (incoming_.route->model) {
    case ModelName::kPath:
      return incoming_.http.path_values.at(0);
    case ModelName::kQuery: {
      const std::string* value = incoming_.http.query_value("model");
      return value ? *value : std::string();
    }
    case ModelName::kBody: {
      const Json* value = body_.find("model");
      if (!value || value->is_null()) return std::string();
      if (value->is_string()) return value->string();
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("The field \"model\" is of type {}, but has to be a string.",
                                    value->type_name()));
    }
    case ModelName::kNone:
      break;
  }
  return std::string();
}

void Transaction::call(const api::ModelLease& model) {
  if (model && !model->hosts) return forward(model);
  if (const auto* own = std::get_if<Own>(&incoming_.route->handler))
    return answer(core_->answer(*own));
  const auto endpoint = std::get<api::Endpoint>(incoming_.route->handler);
  Result<api::Exchange> exchange = endpoint(call_of(model.get()));
  if (!exchange) return answer(exchange.error());
  if (auto* reply = std::get_if<api::HttpReply>(&*exchange)) return answer(std::move(*reply));
  if (auto* work = std::get_if<api::LongWork>(&*exchange)) return run_long(std::move(*work));
  if (!model) {
    return answer(base::Error{
        ErrorCode::kInternal,
        fmt::format("The route {} names no model for what it asks.", incoming_.route->path),
        {}});
  }
  if (auto* job = std::get_if<api::Job>(&*exchange)) return run_job(std::move(*job), model);
  take_media(std::move(std::get<api::Texts>(*exchange)), model);
}

void Transaction::run_job(api::Job job, const api::ModelLease& model) {
  job_count_ = count_texts(1);
  if (!job_count_) return;
  if (left_) return give_up();
  const auto self = shared_from_this();
  responder_->post([self, id = model->id] {
    self->outcome_.model = id;
    self->costs_ = true;
    if (self->left_) self->left();
  });
  const auto run = [self, run = std::move(job.run), n = job.n_tokens,
                    &metrics = core_->metrics.of(model->id)](
                       service::LoadedModel& loaded) -> base::Task<Result<api::HttpReply>> {
    if (self->left_)
      co_return base::fail(ErrorCode::kCancelled, "Its client left before the job began.");
    const base::Timer timer;
    auto reply = co_await run(loaded, self->left_);
    if (!reply || n == 0) co_return reply;
    const Totals totals = totals_of_embedded(n, timer.ms());
    metrics.add(totals);
    if (self->core_->options.behind_server)
      reply->headers.emplace_back(kTotalsHeader, to_text(totals));
    co_return reply;
  };
  // The model stays until the job has ended, and is given back on another thread than its own.
  model->hosts->nearest(job.text).post_job<api::HttpReply>(
      run, [self, model = api::ModelLease(model)](Result<api::HttpReply> reply) mutable {
        self->responder_->post([self, model = std::move(model), reply = std::move(reply)] {
          self->job_count_.reset();
          if (reply) return self->answer(*reply);
          self->answer(reply.error());
        });
      });
}

void Transaction::forward(const api::ModelLease& model) {
  const std::shared_ptr<TextsCount> count = count_texts(1);
  if (!count) return;
  if (left_ && !kept_) return give_up();
  responder_->post([self = shared_from_this(), model = model, count]() mutable {
    const std::string id = model->id;
    self->run(id, [&](std::shared_ptr<Responder> responder, OnEnd on_end) {
      return std::make_shared<Forward>(self->core_, self->incoming_, std::move(responder),
                                       std::move(model), count, self->load_ms_, std::move(on_end));
    });
  });
}

std::shared_ptr<TextsCount> Transaction::count_texts(uint32_t n) {
  if (const size_t most = core_->options.queue; n > most) {
    // Nor is there room for them later.
    answer(base::Error{ErrorCode::kInvalidArgument,
                       fmt::format("The request is for {} texts, but at most {} can wait or run at "
                                   "once (--queue).",
                                   n, most),
                       {}});
    return nullptr;
  }
  auto out = std::make_shared<TextsCount>(core_->n_texts, n);
  if (core_->n_texts <= core_->options.queue) return out;
  answer(busy_reply(incoming_.dialect,
                    fmt::format("{} texts wait or run already, which is the most; try again later.",
                                core_->n_texts - n)));
  return nullptr;
}

void Transaction::run_long(api::LongWork work) {
  if (left_) return give_up();
  const auto self = shared_from_this();
  const bool started = core_->works.start(
      std::shared_ptr<std::atomic<bool>>(self, &left_), [self, work = std::move(work)] {
        Json last = Json::object();
        const auto write = [&](const Json& line) {
          last = line;
          if (!work.stream) return;
          self->responder_->post([self, text = api::ndjson(line)] { self->write_line(text); });
        };
        const Result<void> done = work.run(write, self->left_);
        self->responder_->post(
            [self, done, last, stream = work.stream] { self->end_long(done, last, stream); });
      });
  if (!started) return answer(busy_reply(incoming_.dialect, kTooManyWorks));
  responder_->post([self] {
    self->costs_ = true;
    if (self->left_) self->left();
  });
}

void Transaction::write_line(std::string line) {
  if (over_) return;
  if (!std::exchange(begun_, true)) {
    return responder_->begin(
        {.status = 200, .content_type = "application/x-ndjson", .body = std::move(line)});
  }
  // Of lines that a client does not read it would have no use later.
  if (responder_->n_waiting() < Responder::kMostWaiting) responder_->write(std::move(line));
}

void Transaction::end_long(const Result<void>& done, const Json& last, bool stream) {
  if (over_) return;
  if (!done && !begun_) return answer(done.error());
  if (!stream) return answer(api::HttpReply::json(last));
  if (!done) {
    const api::HttpReply error = error_reply(incoming_.dialect, done.error());
    responder_->write(error.body + "\n");
  } else if (!begun_) {
    write_line({});
  }
  end(200);
  responder_->finish();
}

// Its bytes have all come; what is left is to see that they are the ones.
void Transaction::end_upload() {
  static_cast<Upload&>(*incoming_.sink).finish([self = shared_from_this()](Result<int> status) {
    if (!status) return self->answer(status.error());
    self->answer(api::HttpReply{.status = *status, .content_type = "", .body = ""});
  });
}

Result<void> Transaction::keep_stream() {
  const std::string* name = incoming_.http.header("x-conversation-id");
  if (kept_ || !name || name->empty()) return {};
  if (name->size() > StreamStore::kLongestName) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The X-Conversation-Id has {} bytes; {} are the most.",
                                  name->size(), StreamStore::kLongestName));
  }
  kept_ = core_->streams.open({incoming_.key, *name}, responder_);
  kept_->set_run(std::make_shared<Waiting>(weak_from_this()));
  // It was found before it had that.
  if (kept_->stopped()) return std::unexpected(cancelled());
  return {};
}

void Transaction::stop_waiting(const base::Error& error) {
  waiting_.reset();
  answer(error);
}

void Transaction::prepare(api::Texts texts, const api::ModelLease& model) {
  const auto n = static_cast<uint32_t>(texts.requests.size());
  TextsRun::Plan plan;
  plan.count = count_texts(n);
  if (!plan.count) return;
  if (texts.slot && *texts.slot >= model->slots->n_slots()) {
    return answer(base::Error{ErrorCode::kInvalidArgument,
                              fmt::format("The field \"id_slot\" is {}, but the slots are 0 to {}.",
                                          *texts.slot, model->slots->n_slots() - 1),
                              {}});
  }
  if (texts.stream) {
    if (auto kept = keep_stream(); !kept) return answer(kept.error());
  }
  for (service::Request& request : texts.requests) {
    if (left_ && !kept_) return give_up();
    auto prepared = service::prepare(model->loaded(), std::move(request));
    if (!prepared) return answer(prepared.error());
    texts.writer->set_prompt(plan.prepared.size(), *prepared);
    plan.prepared.push_back(*std::move(prepared));
  }
  plan.model = model;
  plan.writer = std::move(texts.writer);
  plan.stream = texts.stream;
  plan.slot = texts.slot;
  plan.ping = core_->options.ping;
  if (texts.ping_seconds) plan.ping = std::chrono::seconds(*texts.ping_seconds);
  // std::function wants what can be copied.
  auto shared = std::make_shared<TextsRun::Plan>(std::move(plan));
  responder_->post([self = shared_from_this(), shared] {
    const std::string id = shared->model->id;
    self->run(id, [&](std::shared_ptr<Responder> responder, OnEnd on_end) {
      return std::make_shared<TextsRun>(self->core_, self->incoming_, std::move(responder),
                                        std::move(*shared), std::move(on_end));
    });
  });
}

void Transaction::run(const std::string& model, const MakeRun& make) {
  if (over_) {
    if (kept_) core_->streams.forget(kept_);
    return;
  }
  costs_ = true;
  outcome_.model = model;
  if (kept_) return run_kept(make);
  if (left_) return left();
  run_ = make(responder_, [this](const Totals& totals, int status) { end(totals, status); });
  if (const std::string* name = run_name()) core_->named_runs.add(*name, run_, responder_);
  run_->start();
}

// The stream has the texts, and the client is its first reader.
void Transaction::run_kept(const MakeRun& make) {
  const auto run = make(kept_, [self = shared_from_this()](const Totals& totals, int status) {
    self->end(totals, status);
  });
  kept_->set_run(run);
  run->start();
  core_->streams.show(kept_);
  if (kept_->stopped()) run->cancel();
  if (left_) return left();
  read_stream(kept_, 0);
}

void Transaction::read_stream(std::shared_ptr<KeptStream> stream, uint64_t from) {
  // Of a text of its own, that has told how it ended.
  const bool own = stream == kept_;
  reader_ =
      std::make_shared<StreamReader>(std::move(stream), responder_, from, [this, own](int status) {
        if (!own) end(status);
      });
  reader_->start();
}

void Transaction::answer(Streams what) {
  const auto refuse = [this](int status, std::string_view message) {
    answer(error_reply(incoming_.dialect, status, message));
  };
  if (what == Streams::kLookup) {
    const Json* ids = body_.find("conversation_ids");
    const auto is_text = [](const Json& id) { return id.is_string(); };
    if (!ids || !ids->is_array() || !std::ranges::all_of(ids->items(), is_text))
      return refuse(400, "The field \"conversation_ids\" has to be a list of strings.");
    if (ids->items().size() > kMostLookups) {
      return refuse(400, fmt::format("\"conversation_ids\" lists {} of them; {} are the most.",
                                     ids->items().size(), kMostLookups));
    }
    Json list = Json::array();
    for (const Json& id : ids->items()) {
      const auto stream = core_->streams.find({incoming_.key, id.string()});
      if (!stream) continue;
      const KeptStream::Status status = stream->status();
      list.push(Json::object()
                    .set("conversation_id", id.string())
                    .set("is_done", status.done)
                    .set("total_bytes", status.n_bytes)
                    .set("first_byte", status.first)
                    .set("started_at", int64_t{status.started})
                    .set("completed_at", int64_t{status.completed}));
    }
    return answer(api::HttpReply::json(list));
  }
  if (what == Streams::kModels) {
    if (!core_->models.load()->control())
      return refuse(501, "This server has one model, which stays.");
    return responder_->post([self = shared_from_this()] { self->watch_models(); });
  }
  const std::string* const run =
      core_->options.behind_server ? incoming_.http.header(kStopHeader) : nullptr;
  if (run && what == Streams::kStop) {
    const int status = core_->named_runs.cancel(*run) ? 204 : 404;
    return answer(api::HttpReply{.status = status, .content_type = "", .body = ""});
  }
  const std::string* id = incoming_.http.query_value("conv_id");
  if (!id || id->empty()) return refuse(400, "The query has no \"conv_id\".");
  if (what == Streams::kStop) {
    core_->streams.stop({incoming_.key, *id});
    return answer(api::HttpReply{.status = 204, .content_type = "", .body = ""});
  }
  uint64_t from = 0;
  if (const std::string* text = incoming_.http.query_value("from")) {
    const char* last = text->data() + text->size();
    const auto [end, error] = std::from_chars(text->data(), last, from);
    if (error != std::errc() || end != last)
      return refuse(400,
                    fmt::format("\"from\" is \"{}\", but has to be a number of bytes.", *text));
  }
  if (core_->streams.is_coming({incoming_.key, *id})) {
    return answer(busy_reply(incoming_.dialect,
                             "The text of this conversation has not begun yet; try again soon."));
  }
  const auto stream = core_->streams.find({incoming_.key, *id});
  if (!stream) return refuse(404, "There is no stream of this conversation.");
  const KeptStream::Status status = stream->status();
  if (from < status.first || from > status.n_bytes) {
    return refuse(400, fmt::format("Of this stream bytes {} to {} are there, so that it cannot be "
                                   "read from {} on.",
                                   status.first, status.n_bytes, from));
  }
  responder_->post([self = shared_from_this(), stream, from] {
    self->costs_ = true;
    if (self->left_) return self->left();
    if (self->incoming_.http.method != "HEAD") return self->read_stream(stream, from);
    const auto head = stream->head();
    self->end(200);
    self->responder_->begin(head ? head->reply : api::HttpReply{.content_type = "", .body = ""});
    self->responder_->finish();
  });
}

void Transaction::watch_models() {
  if (over_) return;
  costs_ = true;
  if (left_) return left();
  end(200);
  events_ = std::make_shared<ModelEvents>(*core_, responder_);
  events_->start(incoming_.http.method == "HEAD");
}

void Transaction::answer(api::HttpReply reply) {
  if (kept_) core_->streams.forget(kept_);
  auto shared = std::make_shared<api::HttpReply>(std::move(reply));
  responder_->post([self = shared_from_this(), shared] {
    if (self->over_) return;
    const int status = shared->status;
    self->end(status);
    self->responder_->send(std::move(*shared));
  });
}

void Transaction::give_up() {
  responder_->post([self = shared_from_this()] {
    self->costs_ = true;
    self->left();
  });
}

void Transaction::end(const Totals& totals, int status) {
  // What was asked of a model and wrote no text has no counts.
  if (totals.n_texts > 0) {
    outcome_.n_prompt = totals.n_prompt;
    outcome_.n_cached = totals.n_cached;
    outcome_.n_generated = totals.n_generated;
  }
  end(status);
}

const std::string* Transaction::run_name() const {
  return core_->options.behind_server ? incoming_.http.header(kRunHeader) : nullptr;
}

void Transaction::end(int status) {
  if (std::exchange(over_, true)) return;
  waiting_.reset();
  if (const std::string* name = run_name()) core_->named_runs.remove(*name);
  outcome_.status = status;
  core_->log.write(incoming_, outcome_);
  core_->metrics.count_request(incoming_.http.method, incoming_.route->path, status);
}

void Transaction::left() {
  left_ = true;
  // A text that is kept waits on for its model.
  if (waiting_ && !kept_) waiting_.reset();
  if (const auto events = std::exchange(events_, nullptr)) {
    events->leave();
    return responder_->give_up();
  }
  if (const auto reader = std::exchange(reader_, nullptr)) {
    reader->leave();
    return responder_->give_up();
  }
  if (over_ || !costs_) return;
  if (run_) {
    run_->drop();
  } else if (!kept_) {
    end(499);
  }
  responder_->give_up();
}

void Transaction::room() {
  if (run_) run_->go_on();
  if (reader_) reader_->go_on();
}

void Transaction::quiet() {
  if (run_) run_->ping();
  if (reader_) reader_->quiet();
  if (events_) events_->quiet();
}

void Transaction::stop() {
  if (events_) return events_->finish();
  // What is read ends with its text.
  if (over_ || reader_) return;
  const base::Error error{ErrorCode::kCancelled, "The server is being shut down.", {}};
  if (run_) return run_->fail(error);
  left_ = true;  // what goes on elsewhere stops where it can
  waiting_.reset();
  if (begun_) return end_long(std::unexpected(error), {}, /*stream=*/true);
  end(503);
  responder_->send(error_reply(incoming_.dialect, error));
}

}  // namespace puna::server
