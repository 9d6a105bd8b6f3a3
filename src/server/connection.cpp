#include "server/connection.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace puna::server {
namespace {

namespace http = boost::beast::http;
using api::HttpReply;
using std::chrono::milliseconds;

// Of what a client sends before its turn: the rest waits in the system's buffers. Behind these an
// end is not read, so that is looked for: as often as steps of a model are long.
constexpr size_t kReadAhead = 16 << 10;
constexpr milliseconds kLook{100};
constexpr size_t kSmallRead = 4 << 10, kBodyRead = 64 << 10;
// A body that nobody wants is read to its end when it is so small, so that the connection stays.
constexpr size_t kSwallowed = 64 << 10;
// Before a connection is closed with something still to come: closed at once, the client's system
// would throw the reply away unread.
constexpr milliseconds kLinger{1000};
constexpr size_t kLingerBytes = 1 << 20;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

void add_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (const char c : value) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  out += "\r\n";
}

class BeastConnection final : public Connection,
                              public Responder,
                              public std::enable_shared_from_this<BeastConnection> {
 public:
  BeastConnection(std::unique_ptr<Stream> stream, Peer peer, Handler& handler, const Limits& limits,
                  std::function<void()> closed)
      : stream_(std::move(stream)),
        peer_(std::move(peer)),
        handler_(handler),
        limits_(limits),
        on_closed_(std::move(closed)) {}

  // Connection:
  void start() override { advance(); }
  void stop_work() override {
    if (const auto work = work_) work->stop();
  }
  void wind_down() override {
    keep_alive_ = false;
    if (phase_ == Phase::kHead && !parser_ && in_.empty()) end_connection();
  }
  void close() override {
    if (phase_ == Phase::kClosed) return;
    phase_ = Phase::kClosed;
    for (size_t i = 0; i < Stream::kTimers; ++i)
      stream_->after(static_cast<Stream::Timer>(i), {}, nullptr);
    out_.clear();
    incoming_.sink.reset();
    stream_->close(shared_from_this());
    if (const auto work = std::exchange(work_, nullptr)) work->left();
    std::exchange(on_closed_, nullptr)();
  }

  // Responder:
  void post(std::function<void()> call) override { stream_->post(std::move(call)); }
  void connect(const std::string& path,
               std::function<void(base::Result<std::unique_ptr<Stream>>)> done) override {
    stream_->connect(path, std::move(done));
  }
  void set_work(std::shared_ptr<Work> work) override { work_ = std::move(work); }
  void send(HttpReply reply) override {
    if (phase_ != Phase::kWork) return;
    std::string head = head_of(reply);
    const bool has_body = reply.status != 204 && reply.status != 304;
    if (has_body) add_header(head, "Content-Length", std::to_string(reply.body.size()));
    queue(std::move(head += std::exchange(trailers_, {}) + "\r\n"));
    if (has_body && !head_only_) queue(std::move(reply.body));
    end_request();
  }
  void ping_every(milliseconds time) override {
    ping_ = time;
    wait_for_quiet();
  }
  void begin(HttpReply head) override {
    if (phase_ != Phase::kWork) return;
    chunked_ = !http_1_0_;
    if (http_1_0_) keep_alive_ = false;
    std::string text = head_of(head);
    if (chunked_) add_header(text, "Transfer-Encoding", "chunked");
    add_header(text, "Cache-Control", "no-cache");
    add_header(text, "X-Accel-Buffering", "no");  // of proxies
    queue(std::move(text += "\r\n"));
    write(std::move(head.body));
    flush();
  }
  void write(std::string piece) override {
    if (phase_ != Phase::kWork || piece.empty() || head_only_) return;
    if (chunked_) {
      queue(fmt::format("{:x}\r\n", piece.size()));
      piece += "\r\n";
    }
    queue(std::move(piece));
    if (n_waiting() >= kMostWaiting) full_ = true;
    wait_for_quiet();
    flush();
  }
  void add_trailer(std::string name, std::string value) override {
    add_header(trailers_, name, value);
  }
  void finish() override {
    if (phase_ != Phase::kWork) return;
    if (chunked_ && !head_only_) queue("0\r\n" + std::exchange(trailers_, {}) + "\r\n");
    end_request();
  }
  void give_up() override { close(); }
  size_t n_waiting() const override { return queued_ + in_flight_; }

 private:
  enum class Phase { kHead, kBody, kWork, kEnding, kLinger, kClosed };

  // Goes as far as what has come allows.
  void advance() {
    if (advancing_) return;
    advancing_ = true;
    while (phase_ == Phase::kHead ? parse_head() : phase_ == Phase::kBody && parse_body()) {
    }
    advancing_ = false;
    if (phase_ != Phase::kClosed) read_more();
  }

  void read_more() {
    if (reading_ || ended_ || full_sink_ || phase_ == Phase::kEnding) return;
    if (phase_ != Phase::kBody && in_.size() >= kReadAhead) return watch();
    reading_ = true;
    const size_t wanted = phase_ == Phase::kBody ? kBodyRead : kSmallRead;
    if (read_into_.size() != wanted) read_into_ = std::vector<char>(wanted);
    stream_->read(read_into_, [self = shared_from_this()](size_t n) { self->on_read(n); });
  }

  // While a request is answered whose client has sent more than is read ahead.
  void watch() {
    if (phase_ != Phase::kWork || watching_) return;
    watching_ = true;
    stream_->after(Stream::Timer::kWatch, kLook, [self = shared_from_this()] {
      self->watching_ = false;
      const auto work = self->work_;
      if (!work) return;
      if (!self->stream_->has_ended()) return self->watch();
      work->left();
    });
  }

  void on_read(size_t n) {
    reading_ = false;
    if (phase_ == Phase::kClosed) return;
    if (phase_ == Phase::kLinger) {
      lingered_ += n;
      return n == 0 || lingered_ > kLingerBytes ? close() : read_more();
    }
    if (n == 0) {
      ended_ = true;
      if (const auto work = work_) work->left();
    } else {
      in_.append(read_into_.data(), n);
      if (phase_ == Phase::kBody && !full_sink_) set_body_deadline();
    }
    advance();
  }

  // False: more has to come first, or the connection is closed.
  bool parse_head() {
    if (n_waiting() > kMostWaiting) return false;  // until the replies before it are out
    if (!parser_) in_.erase(0, std::min(in_.find_first_not_of("\r\n"), in_.size()));
    if (in_.empty()) {
      if (in_.capacity() > kSmallRead) in_.shrink_to_fit();
      if (ended_) {
        end_connection();
      } else {
        deadline(limits_.idle, [this] { close(); });
      }
      return false;
    }
    if (!parser_) {
      parser_.emplace();
      parser_->header_limit(static_cast<uint32_t>(limits_.header_bytes));
      parser_->body_limit(boost::none);  // checked here, where the dialect of the error is known
      incoming_ = Incoming{};
      incoming_.peer = peer_;
      keep_alive_ = http_1_0_ = head_only_ = chunked_ = false;
      trailers_.clear();
      deadline(limits_.header,
               [this] { refuse(408, "The request's header has not come in time."); });
    }
    boost::system::error_code error;
    in_.erase(0, parser_->put(boost::asio::buffer(in_), error));
    if (error == http::error::header_limit) {
      refuse(431,
             fmt::format("The request's header is longer than {} bytes.", limits_.header_bytes));
      return false;
    }
    if (error && error != http::error::need_more) {
      refuse(400, fmt::format("The request is no HTTP/1.1 ({}).", error.message()));
      return false;
    }
    if (parser_->is_header_done()) return take_head();
    if (ended_) close();
    return false;
  }

  bool take_head() {
    const auto& head = parser_->get();
    api::HttpRequest& request = incoming_.http;
    request.method = head.method_string();
    incoming_.target = head.target();
    for (const auto& field : head)
      request.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
    incoming_.http_1_0 = http_1_0_ = head.version() < 11;
    head_only_ = request.method == "HEAD";
    keep_alive_ = head.keep_alive();
    incoming_.since_head = {};
    auto refusal = handler_.check(incoming_);
    if (incoming_.close) keep_alive_ = false;
    if (!refusal) {
      const auto room = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->stream_->post([self] { self->go_on_reading(); });
      };
      refusal = handler_.open_sink(incoming_, room);
    }

    const bool has_body = !parser_->is_done();
    const uint64_t length = parser_->content_length().value_or(0);
    const std::string* expect = request.header("expect");
    const auto refuse_with = [&](int status, std::string_view message) {
      if (!refusal) refusal = error_reply(incoming_.dialect, status, message);
    };
    if (request.header("transfer-encoding") && !parser_->chunked()) {
      refusal = error_reply(incoming_.dialect, 501,
                            "The only Transfer-Encoding that is known is \"chunked\".");
      return refuse(*std::move(refusal)), false;
    }
    if (expect && lower(*expect) != "100-continue")
      refuse_with(417, fmt::format("The expectation \"{}\" is not known.", *expect));
    if (length > limits_.body_bytes && !incoming_.sink) refuse_with(413, too_long());
    if (refusal && has_body && (expect || parser_->chunked() || length > kSwallowed))
      return refuse(*std::move(refusal)), false;
    refusal_ = std::move(refusal);
    if (!has_body) return take_body();
    if (expect && in_.empty()) {
      queue("HTTP/1.1 100 Continue\r\n\r\n");
      flush();
    }
    phase_ = Phase::kBody;
    parser_->eager(true);
    since_body_ = {};
    set_body_deadline();
    return true;
  }

  bool parse_body() {
    boost::system::error_code error;
    while (!in_.empty() && !parser_->is_done() && !error && !full_sink_) {
      const size_t n = parser_->put(boost::asio::buffer(in_), error);
      in_.erase(0, n);
      if (incoming_.sink && !pass_on()) return false;
      if (parser_->get().body().size() > limits_.body_bytes) return refuse(413, too_long()), false;
    }
    if (full_sink_) return false;
    // What is left of it then is the beginning of a line, before a chunk or behind the last one.
    const bool endless = in_.size() > limits_.header_bytes && !parser_->is_done();
    if ((error && error != http::error::need_more) || endless) {
      refuse(400, fmt::format("The request's body is malformed ({}).",
                              endless ? "a line without end" : error.message()));
      return false;
    }
    if (parser_->is_done()) return take_body();
    if (ended_) close();
    return false;
  }

  // What has come of the body goes to its sink. False: it failed.
  bool pass_on() {
    std::string piece = std::exchange(parser_->get().body(), {});
    if (piece.empty()) return true;
    switch (incoming_.sink->put(std::move(piece))) {
      case BodySink::Taken::kMore:
        break;
      case BodySink::Taken::kWait:
        full_sink_ = true;
        stream_->after(Stream::Timer::kDeadline, {}, nullptr);
        break;
      case BodySink::Taken::kFailed:
        refuse(error_reply(incoming_.dialect, incoming_.sink->failure()));
        return false;
    }
    return true;
  }
  void go_on_reading() {
    if (phase_ != Phase::kBody || !std::exchange(full_sink_, false)) return;
    set_body_deadline();
    advance();
  }

  // The request is complete.
  bool take_body() {
    incoming_.http.body = std::move(parser_->get().body());
    parser_.reset();
    stream_->after(Stream::Timer::kDeadline, {}, nullptr);
    phase_ = Phase::kWork;
    if (refusal_) {
      handler_.refused(incoming_, refusal_->status);
      reply_headers_ = std::move(incoming_.reply_headers);
      send(*std::exchange(refusal_, {}));
    } else {
      reply_headers_ = incoming_.reply_headers;
      handler_.handle(std::move(incoming_), shared_from_this());
      // It was sent before the end, which came while those before it were answered.
      if (const auto work = work_; ended_ && work) work->left();
    }
    return phase_ == Phase::kHead;
  }

  // A reply before all of the request has come: the connection cannot go on behind it.
  void refuse(HttpReply reply) {
    handler_.refused(incoming_, reply.status);
    reply_headers_ = std::move(incoming_.reply_headers);
    stream_->after(Stream::Timer::kDeadline, {}, nullptr);
    parser_.reset();
    incoming_.sink.reset();
    full_sink_ = false;
    keep_alive_ = false;
    phase_ = Phase::kWork;
    send(std::move(reply));
  }
  void refuse(int status, std::string_view message) {
    refuse(error_reply(incoming_.dialect, status, message));
  }
  std::string too_long() const {
    return fmt::format("The request's body is longer than {} bytes.", limits_.body_bytes);
  }

  void deadline(milliseconds time, std::function<void()> call) {
    stream_->after(Stream::Timer::kDeadline, time,
                   [self = shared_from_this(), call = std::move(call)] { call(); });
  }
  void set_body_deadline() {
    // What a sink takes may be as long as there is room for, and takes its time.
    const milliseconds left =
        incoming_.sink ? limits_.body_pause
                       : limits_.timeout - milliseconds(static_cast<int64_t>(since_body_.ms()));
    deadline(std::clamp(left, milliseconds(0), limits_.body_pause),
             [this] { refuse(408, "The request's body has not come in time."); });
  }
  void wait_for_quiet() {
    if (ping_.count() == 0 || phase_ != Phase::kWork) return;
    stream_->after(Stream::Timer::kPing, ping_, [self = shared_from_this()] {
      if (const auto work = self->work_) work->quiet();
      self->wait_for_quiet();
    });
  }

  std::string head_of(const HttpReply& reply) const {
    const auto reason =
        http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status)));
    std::string out = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, std::string_view(reason));
    add_header(out, "Server", "puna");
    add_header(out, "Date",
               fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::time(nullptr))));
    if (!reply.content_type.empty()) add_header(out, "Content-Type", reply.content_type);
    for (const auto& [name, value] : reply.headers) add_header(out, name, value);
    for (const auto& [name, value] : reply_headers_) add_header(out, name, value);
    if (!keep_alive_) {
      add_header(out, "Connection", "close");
    } else if (http_1_0_) {
      add_header(out, "Connection", "keep-alive");
    }
    return out;
  }

  void queue(std::string text) {
    queued_ += text.size();
    out_.push_back(std::move(text));
  }

  void flush() {
    if (in_flight_ > 0 || out_.empty()) return;
    in_flight_ = std::exchange(queued_, 0);
    stream_->after(Stream::Timer::kWrite, limits_.timeout,
                   [self = shared_from_this()] { self->close(); });
    stream_->write(std::exchange(out_, {}),
                   [self = shared_from_this()](bool ok) { self->on_written(ok); });
  }

  void on_written(bool ok) {
    in_flight_ = 0;
    if (phase_ == Phase::kClosed) return;
    if (!ok) return close();
    stream_->after(Stream::Timer::kWrite, {}, nullptr);
    flush();
    if (phase_ == Phase::kEnding) return end_connection();
    if (full_ && n_waiting() < kMostWaiting / 2) {
      full_ = false;
      if (const auto work = work_) work->room();
    }
    advance();
  }

  // The reply is complete, though not sent.
  void end_request() {
    work_.reset();
    ping_ = {};
    stream_->after(Stream::Timer::kPing, {}, nullptr);
    full_ = false;
    if (keep_alive_) {
      phase_ = Phase::kHead;
      flush();
      // Not from here: whoever replies may do so within handle().
      if (!advancing_) stream_->post([self = shared_from_this()] { self->advance(); });
    } else {
      phase_ = Phase::kEnding;
      flush();
    }
  }

  // Closes it once all is sent.
  void end_connection() {
    phase_ = Phase::kEnding;
    if (n_waiting() > 0) return;
    if (ended_) return close();
    phase_ = Phase::kLinger;
    in_ = {};
    stream_->end_writing(shared_from_this());
    deadline(kLinger, [this] { close(); });
    read_more();
  }

  const std::unique_ptr<Stream> stream_;
  const Peer peer_;
  Handler& handler_;
  const Limits& limits_;
  std::function<void()> on_closed_;

  Phase phase_ = Phase::kHead;
  bool advancing_ = false;
  bool reading_ = false;
  bool ended_ = false;  // nothing more comes
  bool watching_ = false;
  std::vector<char> read_into_;
  std::string in_;  // has come, and was not parsed
  size_t lingered_ = 0;

  // Of the request that comes, or is answered:
  std::optional<http::request_parser<http::string_body>> parser_;
  Incoming incoming_;
  std::optional<HttpReply> refusal_;  // once its body is there
  base::Timer since_body_;
  bool full_sink_ = false;  // the sink of its body has no room
  std::shared_ptr<Work> work_;
  std::vector<std::pair<std::string, std::string>> reply_headers_;
  std::string trailers_;
  bool keep_alive_ = false, http_1_0_ = false, head_only_ = false, chunked_ = false;
  milliseconds ping_{};

  std::vector<std::string> out_;
  size_t queued_ = 0, in_flight_ = 0;  // bytes of out_; of the write that is under way
  bool full_ = false;
};

}  // namespace

std::shared_ptr<Connection> make_connection(std::unique_ptr<Stream> stream, Peer peer,
                                            Handler& handler, const Limits& limits,
                                            std::function<void()> closed) {
  return std::make_shared<BeastConnection>(std::move(stream), std::move(peer), handler, limits,
                                           std::move(closed));
}

}  // namespace puna::server
