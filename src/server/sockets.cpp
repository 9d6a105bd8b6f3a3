#include "server/sockets.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/log.h"
#include "server/connection.h"

namespace puna::server {
namespace {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using boost::system::error_code;
using std::chrono::milliseconds;
using Socket = asio::generic::stream_protocol::socket;
using TlsSocket = asio::ssl::stream<Socket>;

constexpr size_t kThreads = 2;
// How long it waits to accept again when there are no descriptors left.
constexpr milliseconds kAcceptPause{100};

// One thread, and the connections that are its. It stays as long as anybody may still post to it.
struct Loop {
  asio::io_context io{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard{
      io.get_executor()};
  // Of the thread:
  std::set<std::shared_ptr<Connection>> connections;
  std::map<uint64_t, std::function<void()>> handshakes;  // how to give them up, by connection
  std::mutex mutex;
  bool over = false;
  std::thread thread;

  void post(std::function<void()> call) {
    const std::lock_guard lock(mutex);
    if (!over) asio::post(io, std::move(call));
  }
  void stop() {
    post([this] {
      while (!connections.empty()) (*connections.begin())->close();
      for (const auto& [id, give_up] : std::exchange(handshakes, {})) give_up();
      guard.reset();
    });
    if (thread.joinable()) thread.join();
    {
      const std::lock_guard lock(mutex);
      over = true;
    }
    // What was posted behind the last connection is dropped with what it holds.
    io.restart();
    io.poll();
  }
};

void disconnect(Socket& socket) {
  error_code ignored;
  socket.shutdown(Socket::shutdown_both, ignored);
  socket.close(ignored);
}
void disconnect(TlsSocket& socket) { disconnect(socket.next_layer()); }
bool has_ended(Socket& socket) {
#ifdef POLLRDHUP
  constexpr short kEnd = POLLRDHUP;
#else
  constexpr short kEnd = 0;  // an end is told as POLLHUP, which is always asked for
#endif
  pollfd asked{.fd = socket.native_handle(), .events = kEnd, .revents = 0};
  return ::poll(&asked, 1, /*timeout=*/0) > 0;
}
bool has_ended(TlsSocket& socket) { return has_ended(socket.next_layer()); }
void end_sending(Socket& socket, const std::shared_ptr<void>&) {
  error_code ignored;
  socket.shutdown(Socket::shutdown_send, ignored);
}
void end_sending(TlsSocket& socket, std::shared_ptr<void> keep) {
  // Says so within TLS; the answer to it may never come, so that closing does not wait for it.
  socket.async_shutdown([keep = std::move(keep)](error_code) {});
}

template <class Carrier>
class AsioStream final : public Stream {
 public:
  AsioStream(std::shared_ptr<Loop> loop, Carrier carrier)
      : loop_(std::move(loop)),
        carrier_(std::move(carrier)),
        timers_{asio::steady_timer(loop_->io), asio::steady_timer(loop_->io),
                asio::steady_timer(loop_->io), asio::steady_timer(loop_->io)} {}

  Carrier& carrier() { return carrier_; }

  void read(std::span<char> into, std::function<void(size_t n)> done) override {
    carrier_.async_read_some(
        asio::buffer(into.data(), into.size()),
        [done = std::move(done)](error_code error, size_t n) { done(error ? 0 : n); });
  }
  void write(std::vector<std::string> pieces, std::function<void(bool ok)> done) override {
    pieces_ = std::move(pieces);
    std::vector<asio::const_buffer> buffers;
    for (const std::string& piece : pieces_) buffers.emplace_back(asio::buffer(piece));
    asio::async_write(carrier_, buffers, [this, done = std::move(done)](error_code error, size_t) {
      pieces_.clear();
      done(!error);
    });
  }
  bool has_ended() override { return server::has_ended(carrier_); }
  void after(Timer which, milliseconds time, std::function<void()> call) override {
    const auto index = static_cast<size_t>(which);
    const uint64_t turn = ++turns_[index];
    if (!call) {
      timers_[index].cancel();
      return;
    }
    timers_[index].expires_after(time);
    // The call keeps the connection, and so this; a timer that has run out just before it was set
    // anew is called nevertheless.
    timers_[index].async_wait([this, index, turn, call = std::move(call)](error_code error) {
      if (!error && turn == turns_[index]) call();
    });
  }
  void post(std::function<void()> call) override { loop_->post(std::move(call)); }
  void connect(const std::string& path,
               std::function<void(Result<std::unique_ptr<Stream>>)> done) override;
  void end_writing(std::shared_ptr<void> keep) override { end_sending(carrier_, std::move(keep)); }
  void close(std::shared_ptr<void> keep) override {
    disconnect(carrier_);
    // What was under way is called once more, with an error.
    asio::post(loop_->io, [keep = std::move(keep)] {});
  }

 private:
  const std::shared_ptr<Loop> loop_;
  Carrier carrier_;
  std::array<asio::steady_timer, kTimers> timers_;
  std::array<uint64_t, kTimers> turns_{};
  std::vector<std::string> pieces_;
};

bool is_out_of_resources(const error_code& error) {
  return error == asio::error::no_descriptors || error == asio::error::no_buffer_space ||
         error == asio::error::no_memory ||
         error == boost::system::errc::too_many_files_open_in_system;
}

template <class Carrier>
void AsioStream<Carrier>::connect(const std::string& path,
                                  std::function<void(Result<std::unique_ptr<Stream>>)> done) {
  const auto socket = std::make_shared<asio::local::stream_protocol::socket>(loop_->io);
  const auto call = [loop = loop_, socket, done = std::move(done)](error_code error) {
    if (!error) return done(std::make_unique<AsioStream<Socket>>(loop, Socket(std::move(*socket))));
    const bool full = is_out_of_resources(error);
    done(base::fail(
        full ? ErrorCode::kOutOfMemory : ErrorCode::kNetwork,
        fmt::format("The process that runs the model cannot be reached ({}).", error.message())));
  };
  error_code error;
  socket->open(asio::local::stream_protocol(), error);
  if (error) return asio::post(loop_->io, [call, error] { call(error); });
  socket->async_connect(asio::local::stream_protocol::endpoint(path), call);
}

std::string text_of(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

Peer peer_of(const asio::ip::tcp::socket& socket) {
  Peer out;
  error_code error;
  const auto remote = socket.remote_endpoint(error);
  if (!error) {
    out.address = text_of(remote.address());
    out.loopback = remote.address().is_loopback() || out.address.starts_with("127.");
  }
  const auto local = socket.local_endpoint(error);
  if (!error) out.local = text_of(local.address());
  return out;
}
Peer peer_of(const asio::local::stream_protocol::socket&) {
  Peer out;
  out.is_unix = true;
  return out;
}
void tune(asio::ip::tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
}
void tune(asio::local::stream_protocol::socket&) {}

// A socket that listens, and the pause that it makes when nothing more can be accepted.
template <class Protocol>
struct Door {
  typename Protocol::acceptor acceptor;
  asio::steady_timer pause;

  explicit Door(asio::io_context& io) : acceptor(io), pause(io) {}
};

}  // namespace

struct Sockets::State {
  const Options& options;
  Handler& handler;
  std::array<std::shared_ptr<Loop>, kThreads> loops;
  std::optional<asio::ssl::context> tls;
  std::vector<Address> addresses;
  std::vector<std::string> unix_paths;                 // to be removed
  std::vector<std::function<void()>> close_acceptors;  // on the first loop
  std::atomic<uint64_t> n_accepted = 0;
  std::atomic<uint32_t> n_connections = 0;
  bool stopped = false;

  State(const Options& the_options, Handler& the_handler)
      : options(the_options), handler(the_handler) {
    for (auto& loop : loops) loop = std::make_shared<Loop>();
  }

  Result<void> read_certificates();
  Result<void> listen_tcp(const Address& address);
  Result<void> listen_unix(const Address& address);
  template <class Protocol>
  Result<void> listen_on(const std::shared_ptr<Door<Protocol>>& door,
                         const typename Protocol::endpoint& endpoint, const std::string& name);
  template <class Protocol>
  void accept(const std::shared_ptr<Door<Protocol>>& door, bool out_of_resources);
  template <class ProtocolSocket>
  void take(const std::shared_ptr<Loop>& loop, ProtocolSocket socket);
  void add(const std::shared_ptr<Loop>& loop, std::unique_ptr<Stream> stream, Peer peer);
  // On their threads.
  void for_each(void (Connection::*call)());
};

Result<void> Sockets::State::read_certificates() {
  if (options.certificate_file.empty() && options.key_file.empty()) return {};
  if (options.certificate_file.empty() || options.key_file.empty())
    return base::fail(ErrorCode::kInvalidArgument,
                      "TLS needs a certificate and a key; only one of them is given.");
  tls.emplace(asio::ssl::context::tls_server);
  error_code error;
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1,
                   error);
  SSL_CTX_set_mode(tls->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  tls->use_certificate_chain_file(options.certificate_file, error);
  if (error)
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The certificate {} cannot be used ({}).",
                                  options.certificate_file, error.message()));
  tls->use_private_key_file(options.key_file, asio::ssl::context::pem, error);
  if (error)
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The key {} cannot be used with the certificate {} ({}).",
                                  options.key_file, options.certificate_file, error.message()));
  return {};
}

Result<void> Sockets::State::listen_tcp(const Address& address) {
  asio::ip::tcp::resolver resolver(loops[0]->io);
  error_code error;
  const auto found = resolver.resolve(address.host, std::to_string(address.port),
                                      asio::ip::resolver_base::passive, error);
  if (error)
    return base::fail(ErrorCode::kIo, fmt::format("The host {} to listen on is not known ({}).",
                                                  address.host, error.message()));
  uint16_t port = address.port;
  bool one = false;
  std::optional<base::Error> last;
  for (const auto& entry : found) {
    auto endpoint = entry.endpoint();
    endpoint.port(port);  // the same for all addresses of a name, if it is free
    auto door = std::make_shared<Door<asio::ip::tcp>>(loops[0]->io);
    const auto result =
        listen_on<asio::ip::tcp>(door, endpoint, fmt::format("{}:{}", address.host, port));
    // A name may have addresses that this machine has not (::1 without IPv6).
    if (!result) {
      last = result.error();
      continue;
    }
    one = true;
    const auto bound = door->acceptor.local_endpoint(error);
    port = bound.port();
    addresses.push_back({bound.address().to_string(), port});
  }
  if (!one) return std::unexpected(*last);
  return {};
}

Result<void> Sockets::State::listen_unix(const Address& address) {
  const asio::local::stream_protocol::endpoint endpoint(address.host);
  // A socket that is left of a server that is gone is in the way. One that answers is not ours, and
  // nor is a file of another kind.
  asio::local::stream_protocol::socket probe(loops[0]->io);
  error_code error;
  probe.connect(endpoint, error);
  struct stat at{};
  const bool is_socket = ::lstat(address.host.c_str(), &at) == 0 && S_ISSOCK(at.st_mode);
  if (is_socket && error == asio::error::connection_refused) ::unlink(address.host.c_str());
  auto door = std::make_shared<Door<asio::local::stream_protocol>>(loops[0]->io);
  PUNA_TRY(listen_on<asio::local::stream_protocol>(door, endpoint, address.host));
  unix_paths.push_back(address.host);
  addresses.push_back({address.host, 0});
  return {};
}

template <class Protocol>
Result<void> Sockets::State::listen_on(const std::shared_ptr<Door<Protocol>>& door,
                                       const typename Protocol::endpoint& endpoint,
                                       const std::string& name) {
  error_code error;
  door->acceptor.open(endpoint.protocol(), error);
  if constexpr (std::is_same_v<Protocol, asio::ip::tcp>) {
    if (!error) door->acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error && endpoint.protocol() == asio::ip::tcp::v6())
      door->acceptor.set_option(asio::ip::v6_only(endpoint.address().to_v6().is_loopback()), error);
    using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
    if (!error && options.reuse_port) door->acceptor.set_option(ReusePort(true), error);
  }
  if (!error) door->acceptor.bind(endpoint, error);
  if (!error) door->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return base::fail(ErrorCode::kIo,
                      fmt::format("Nothing can listen on {} ({}).", name, error.message()));
  close_acceptors.push_back([door] {
    error_code ignored;
    door->acceptor.close(ignored);
  });
  loops[0]->post([this, door] { accept<Protocol>(door, /*out_of_resources=*/false); });
  return {};
}

template <class Protocol>
void Sockets::State::accept(const std::shared_ptr<Door<Protocol>>& door, bool out_of_resources) {
  const auto loop = loops[n_accepted++ % kThreads];
  door->acceptor.async_accept(loop->io, [this, door, loop, out_of_resources](
                                            error_code error, typename Protocol::socket socket) {
    if (error == asio::error::operation_aborted || !door->acceptor.is_open()) return;
    if (is_out_of_resources(error)) {
      if (!out_of_resources)
        base::log_warning("No more connections are accepted for now ({}).", error.message());
      door->pause.expires_after(kAcceptPause);
      door->pause.async_wait([this, door](error_code) {
        if (door->acceptor.is_open()) accept<Protocol>(door, /*out_of_resources=*/true);
      });
      return;
    }
    if (!error) take(loop, std::move(socket));
    accept<Protocol>(door, /*out_of_resources=*/false);
  });
}

template <class ProtocolSocket>
void Sockets::State::take(const std::shared_ptr<Loop>& loop, ProtocolSocket socket) {
  tune(socket);
  Peer peer = peer_of(socket);
  peer.id = n_accepted;
  if (!tls) {
    auto stream = std::make_shared<std::unique_ptr<Stream>>(
        std::make_unique<AsioStream<Socket>>(loop, Socket(std::move(socket))));
    loop->post([this, loop, stream, peer] { add(loop, std::move(*stream), peer); });
    return;
  }
  auto stream = std::make_shared<std::unique_ptr<AsioStream<TlsSocket>>>(
      std::make_unique<AsioStream<TlsSocket>>(loop, TlsSocket(Socket(std::move(socket)), *tls)));
  loop->post([this, loop, stream, peer] {
    const auto give_up = [stream] { (*stream)->close(stream); };
    loop->handshakes[peer.id] = give_up;
    (*stream)->after(Stream::Timer::kDeadline, options.limits.header, give_up);
    (*stream)->carrier().async_handshake(asio::ssl::stream_base::server,
                                         [this, loop, stream, peer](error_code error) {
                                           loop->handshakes.erase(peer.id);
                                           (*stream)->after(Stream::Timer::kDeadline, {}, nullptr);
                                           if (!error) add(loop, std::move(*stream), peer);
                                         });
  });
}

void Sockets::State::add(const std::shared_ptr<Loop>& loop, std::unique_ptr<Stream> stream,
                         Peer peer) {
  ++n_connections;
  // It is not known before it is made, and gone from the list before it is.
  auto self = std::make_shared<std::weak_ptr<Connection>>();
  const auto closed = [this, loop = loop.get(), self] {
    --n_connections;
    loop->connections.erase(self->lock());
  };
  const auto connection =
      make_connection(std::move(stream), std::move(peer), handler, options.limits, closed);
  *self = connection;
  loop->connections.insert(connection);
  connection->start();
}

void Sockets::State::for_each(void (Connection::*call)()) {
  for (const auto& loop : loops) {
    loop->post([loop = loop.get(), call] {
      // The call may close it.
      const auto connections = loop->connections;
      for (const auto& connection : connections) ((*connection).*call)();
    });
  }
}

Sockets::Sockets(const Options& options, Handler& handler)
    : state_(std::make_unique<State>(options, handler)) {}

Sockets::~Sockets() { stop(); }

Result<void> Sockets::listen() {
  PUNA_TRY(state_->read_certificates());
  for (const Address& address : state_->options.listen) {
    PUNA_TRY(address.is_unix() ? state_->listen_unix(address) : state_->listen_tcp(address));
  }
  for (const auto& loop : state_->loops) {
    loop->thread = std::thread([io = &loop->io] { io->run(); });
  }
  return {};
}

void Sockets::every(milliseconds time, std::function<void()> call) {
  // Waits anew from within; the timer goes with the last wait.
  struct Clock : std::enable_shared_from_this<Clock> {
    asio::steady_timer timer;
    milliseconds time;
    std::function<void()> call;
    bool over = false;

    Clock(asio::io_context& io, milliseconds the_time, std::function<void()> the_call)
        : timer(io), time(the_time), call(std::move(the_call)) {}
    void wait() {
      timer.expires_after(time);
      timer.async_wait([self = shared_from_this()](error_code error) {
        if (error || self->over) return;
        self->call();
        self->wait();
      });
    }
  };
  state_->loops[0]->post([state = state_.get(), time, call = std::move(call)] {
    const auto clock = std::make_shared<Clock>(state->loops[0]->io, time, call);
    state->close_acceptors.emplace_back([clock] {
      clock->over = true;
      clock->timer.cancel();
    });
    clock->wait();
  });
}

const std::vector<Address>& Sockets::addresses() const { return state_->addresses; }

uint32_t Sockets::n_connections() const { return state_->n_connections; }

void Sockets::stop_accepting() {
  state_->loops[0]->post([state = state_.get()] {
    for (const auto& close : state->close_acceptors) close();
  });
}

void Sockets::stop_work() { state_->for_each(&Connection::stop_work); }

void Sockets::wind_down() { state_->for_each(&Connection::wind_down); }

void Sockets::stop() {
  if (std::exchange(state_->stopped, true)) return;
  stop_accepting();
  for (const auto& loop : state_->loops) loop->stop();
  for (const std::string& path : state_->unix_paths) ::unlink(path.c_str());
}

}  // namespace puna::server
