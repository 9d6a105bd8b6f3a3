#include "server/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "api/stream_failure.h"

namespace puna::server {

using base::ErrorCode;
using base::Result;

namespace {

constexpr size_t kRead = 64 << 10;

// Of a request: what is between the client and this server, and what this one sets itself.
constexpr std::array<std::string_view, 19> kNotAsked = {"authorization",
                                                        "connection",
                                                        "content-length",
                                                        "cookie",
                                                        "expect",
                                                        "host",
                                                        "keep-alive",
                                                        "origin",
                                                        "te",
                                                        "transfer-encoding",
                                                        "upgrade",
                                                        "x-api-key",
                                                        "x-conversation-id",
                                                        kClientHeader,
                                                        kLoadHeader,
                                                        kRunHeader,
                                                        kStopHeader,
                                                        "x-request-id",
                                                        "proxy-authorization"};
// Of a reply: what every reply of this server has.
constexpr std::array<std::string_view, 9> kNotAnswered = {
    "cache-control", "connection",        "content-length",    "content-type", "date",
    "server",        "transfer-encoding", "x-accel-buffering", "x-request-id"};

template <size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::ranges::find(names, name) != names.end();
}

base::Error gone(const std::string& model) {
  return {ErrorCode::kNetwork,
          fmt::format("The process that runs the model \"{}\" has ended while it answered.", model),
          {}};
}

// As a part of a target.
std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// Behind the last whole frame of a stream.
size_t end_of_frames(std::string_view text, std::string_view content_type) {
  const std::string_view end = content_type.starts_with("application/x-ndjson") ? "\n" : "\n\n";
  const size_t found = text.rfind(end);
  return found == std::string_view::npos ? 0 : found + end.size();
}

uint64_t n_events_in(std::string_view frames) {
  uint64_t out = frames.starts_with("event:") ? 1 : 0;
  for (size_t at = 0; (at = frames.find("\n\nevent:", at)) != std::string_view::npos; ++at) ++out;
  return out;
}

std::string next_name() {
  static std::atomic<uint64_t> n = 0;
  return std::to_string(++n);
}

}  // namespace

api::HttpReply elsewhere_reply(api::Dialect dialect, const base::Error& error) {
  if (error.code != ErrorCode::kNetwork) return error_reply(dialect, error);
  return api::HttpReply::json(api::elsewhere_error_body(dialect, error),
                              api::elsewhere_status_of(error.code));
}

Forward::Forward(std::shared_ptr<Core> core, const Incoming& incoming,
                 std::shared_ptr<Responder> responder, api::ModelLease model,
                 std::shared_ptr<TextsCount> count, double load_ms, OnEnd on_end)
    : core_(std::move(core)),
      incoming_(incoming),
      responder_(std::move(responder)),
      model_(std::move(model)),
      count_(std::move(count)),
      load_ms_(load_ms),
      on_end_(std::move(on_end)),
      name_(next_name()),
      reader_(incoming.http.method == "HEAD") {}

Forward::~Forward() { close(); }

void Forward::start() {
  core_->metrics.of(model_->id).queue_time.add(incoming_.since_head.ms() / 1e3);
  responder_->connect(model_->remote->socket(),
                      [self = shared_from_this()](Result<std::unique_ptr<Stream>> stream) {
                        self->connected(std::move(stream));
                      });
}

std::string Forward::request_text() const {
  const api::HttpRequest& http = incoming_.http;
  std::string target = encoded(http.path);
  for (const auto& [name, value] : http.query) {
    target += target.find('?') == std::string::npos ? '?' : '&';
    target += encoded(name) + "=" + encoded(value);
  }
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
                                http.method, target);
  for (const auto& [name, value] : http.headers) {
    if (!is_one_of(name, kNotAsked) && !name.starts_with("sec-"))
      out.append(name).append(": ").append(value).append("\r\n");
  }
  out +=
      fmt::format("x-request-id: {}\r\n{}: {}\r\n", incoming_.id, kClientHeader, incoming_.client);
  out += fmt::format("{}: {:.3f}\r\n{}: {}\r\ncontent-length: {}\r\n\r\n", kLoadHeader, load_ms_,
                     kRunHeader, name_, http.body.size());
  return out;
}

void Forward::connected(Result<std::unique_ptr<Stream>> stream) {
  if (over_) return;
  if (!stream) return fail(stream.error());
  stream_ = *std::move(stream);
  // The reply says what has become of a request that was not taken.
  stream_->write({request_text(), incoming_.http.body},
                 [self = shared_from_this(), stream = stream_](bool) {});
  read_more();
}

void Forward::read_more() {
  if (reading_ || over_ || !stream_ || responder_->n_waiting() >= Responder::kMostWaiting) return;
  reading_ = true;
  if (read_into_.empty()) read_into_.resize(kRead);
  stream_->read(read_into_, [self = shared_from_this(), stream = stream_](size_t n) {
    self->reading_ = false;
    self->on_read(n);
  });
}

void Forward::on_read(size_t n) {
  if (over_) return;
  if (n == 0 || !reader_.put({read_into_.data(), n})) return broke();
  pass_on();
  if (!over_) read_more();
}

void Forward::go_on() { read_more(); }

void Forward::pass_on() {
  if (!reader_.has_head()) return;
  if (reader_.is_stream()) return pass_stream_on();
  if (!reader_.done()) return;
  api::HttpReply reply{.status = reader_.status(), .content_type = "", .body = reader_.take_body()};
  for (auto& [name, value] : reader_.headers()) {
    if (name == "content-type") reply.content_type = value;
    if (!is_one_of(name, kNotAnswered) && name != kTotalsHeader)
      reply.headers.emplace_back(std::move(name), std::move(value));
  }
  end(totals(), reply.status);
  responder_->send(std::move(reply));
}

void Forward::pass_stream_on() {
  if (!std::exchange(begun_, true)) {
    api::HttpReply head{.status = reader_.status(), .content_type = "", .body = ""};
    for (auto& [name, value] : reader_.headers()) {
      if (name == "content-type") content_type_ = value;
      if (!is_one_of(name, kNotAnswered)) head.headers.emplace_back(std::move(name), value);
    }
    head.content_type = content_type_;
    core_->metrics.of(model_->id).first_token.add(incoming_.since_head.ms() / 1e3);
    responder_->begin(std::move(head));
  }
  const bool numbered = incoming_.route && incoming_.route->path.ends_with("/responses");
  partial_ += reader_.take_body();
  // A frame whose end never comes would be one that no client can read.
  const size_t whole = reader_.done() ? partial_.size() : end_of_frames(partial_, content_type_);
  std::string frames = partial_.substr(0, whole);
  partial_.erase(0, whole);
  if (numbered) n_events_ += n_events_in(frames);
  if (!frames.empty()) responder_->write(std::move(frames));
  if (over_ || !reader_.done()) return;
  end(totals(), reader_.status());
  responder_->finish();
}

Totals Forward::totals() const {
  for (const auto& [name, value] : reader_.headers()) {
    if (name != kTotalsHeader) continue;
    if (const auto read = read_totals(value)) return *read;
  }
  return {};
}

void Forward::broke() { fail(gone(model_->id)); }

void Forward::drop() {
  if (over_) return;
  end({.n_texts = 1, .n_cancelled = 1}, 499);
}

void Forward::cancel() {
  if (over_ || stop_stream_) return;
  if (!stream_) return stop_refused();
  responder_->connect(model_->remote->socket(),
                      [self = shared_from_this()](Result<std::unique_ptr<Stream>> stream) {
                        if (self->over_) return;
                        if (!stream) return self->stop_refused();
                        self->ask_to_stop(*std::move(stream));
                      });
}

void Forward::ask_to_stop(std::unique_ptr<Stream> stream) {
  stop_stream_ = std::move(stream);
  stop_stream_->write({fmt::format("DELETE /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: "
                                   "close\r\n{}: {}\r\n\r\n",
                                   kStopHeader, name_)},
                      [self = shared_from_this(), stream = stop_stream_](bool) {});
  stop_read_into_.resize(kRead);
  read_stop();
}

void Forward::read_stop() {
  stop_stream_->read(stop_read_into_, [self = shared_from_this(), stream = stop_stream_](size_t n) {
    if (self->over_) return;
    if (n == 0 || !self->stop_reader_.put({self->stop_read_into_.data(), n}))
      return self->stop_refused();
    if (!self->stop_reader_.has_head()) return self->read_stop();
    if (self->stop_reader_.status() != 204) self->stop_refused();
  });
}

// It has not begun there, or its end is on its way.
void Forward::stop_refused() {
  if (!begun_) fail({ErrorCode::kInvalidArgument, "The request was cancelled.", {}});
}

void Forward::fail(const base::Error& error) {
  if (over_) return;
  const Totals lost{.n_texts = 1, .n_cancelled = 1};
  if (!begun_) {
    api::HttpReply reply = elsewhere_reply(incoming_.dialect, error);
    end(lost, reply.status);
    return responder_->send(std::move(reply));
  }
  const bool numbered = incoming_.route && incoming_.route->path.ends_with("/responses");
  end(lost, 200);
  responder_->write(
      api::stream_failure(incoming_.dialect, content_type_, numbered, n_events_, error));
  responder_->finish();
}

void Forward::close() {
  for (std::shared_ptr<Stream>* const each : {&stream_, &stop_stream_}) {
    if (const auto stream = std::exchange(*each, nullptr)) stream->close(stream);
  }
}

void Forward::end(const Totals& totals, int status) {
  over_ = true;
  close();
  ModelMetrics& metrics = core_->metrics.of(model_->id);
  metrics.add(totals);
  on_end_(totals, status);
  // The connection may keep this for long; the model need not stay for it.
  model_.reset();
  count_.reset();
}

}  // namespace puna::server
