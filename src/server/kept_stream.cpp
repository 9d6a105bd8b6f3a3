#include "server/kept_stream.h"

#include <algorithm>

#include "server/run.h"

namespace puna::server {

namespace {

constexpr size_t kBlock = 16 << 10;

}  // namespace

KeptStream::KeptStream(Setup setup, std::shared_ptr<Responder> owner)
    : setup_(std::move(setup)), owner_(std::move(owner)) {
  status_.started = std::time(nullptr);
  status_.last = setup_.now();
}

KeptStream::~KeptStream() { shrink(0); }

void KeptStream::post(std::function<void()> call) {
  const std::shared_ptr<Responder> owner = [&] {
    const std::lock_guard lock(mutex_);
    return owner_;
  }();
  if (owner) owner->post(std::move(call));
}

void KeptStream::connect(const std::string& path,
                         std::function<void(base::Result<std::unique_ptr<Stream>>)> done) {
  const std::shared_ptr<Responder> owner = [&] {
    const std::lock_guard lock(mutex_);
    return owner_;
  }();
  if (owner) owner->connect(path, std::move(done));
}

void KeptStream::ping_every(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  ping_ = time;
}

std::chrono::milliseconds KeptStream::ping() const {
  const std::lock_guard lock(mutex_);
  return ping_;
}

void KeptStream::send(api::HttpReply reply) {
  {
    const std::lock_guard lock(mutex_);
    if (status_.done) return;
    head_ = Head{std::move(reply), /*whole=*/true};
  }
  end(/*cut=*/false);
}

void KeptStream::begin(api::HttpReply head) {
  std::string first = std::exchange(head.body, {});
  {
    const std::lock_guard lock(mutex_);
    if (status_.done) return;
    head_ = Head{std::move(head), /*whole=*/false};
    tell();
  }
  write(std::move(first));
}

void KeptStream::write(std::string piece) {
  {
    const std::lock_guard lock(mutex_);
    if (status_.done || piece.empty()) return;
    for (std::string_view left = piece; !left.empty();) {
      if (blocks_.empty() || blocks_.back().size() == kBlock) {
        blocks_.emplace_back();
        blocks_.back().reserve(kBlock);
        *setup_.used_bytes += kBlock;
      }
      std::string& block = blocks_.back();
      const std::string_view next = left.substr(0, kBlock - block.size());
      block += next;
      left.remove_prefix(next.size());
      status_.n_bytes += next.size();
      while (status_.n_bytes - status_.first >= setup_.ring_bytes + blocks_.front().size())
        drop_first();
    }
    status_.last = setup_.now();
    tell();
  }
  if (*setup_.used_bytes > setup_.most_bytes) setup_.too_many();
}

void KeptStream::finish() { end(/*cut=*/false); }

void KeptStream::give_up() { end(/*cut=*/true); }

void KeptStream::end(bool cut) {
  std::shared_ptr<Run> run;
  std::shared_ptr<Responder> owner;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(status_.done, true)) return;
    cut_ = cut;
    status_.completed = std::time(nullptr);
    run = std::exchange(run_, nullptr);
    owner = std::exchange(owner_, nullptr);
    tell();
  }
  // It may be the one that says so, which has to come to its end first.
  if (owner) owner->post([run = std::move(run), owner] {});
}

void KeptStream::drop_first() {
  status_.first += blocks_.front().size();
  blocks_.pop_front();
  *setup_.used_bytes -= kBlock;
}

size_t KeptStream::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size() * kBlock;
}

void KeptStream::shrink(size_t most) {
  const std::lock_guard lock(mutex_);
  while (!blocks_.empty() && blocks_.size() * kBlock > most) drop_first();
}

void KeptStream::set_run(std::shared_ptr<Run> run) {
  const std::lock_guard lock(mutex_);
  if (!status_.done) run_ = std::move(run);
}

void KeptStream::to_run(std::function<void(Run& run)> call) {
  post([self = shared_from_this(), call = std::move(call)] {
    const std::shared_ptr<Run> run = [&] {
      const std::lock_guard lock(self->mutex_);
      return self->run_;
    }();
    if (run) call(*run);
  });
}

void KeptStream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  to_run([](Run& run) { run.cancel(); });
}

void KeptStream::shut_down() {
  to_run([](Run& run) {
    run.fail({base::ErrorCode::kCancelled, "The server is being shut down.", {}});
  });
}

void KeptStream::quiet() {
  to_run([](Run& run) { run.ping(); });
}

void KeptStream::abandon() {
  const std::shared_ptr<Run> run = [&] {
    const std::lock_guard lock(mutex_);
    return std::exchange(run_, nullptr);
  }();
  if (run) run->drop();
}

bool KeptStream::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

KeptStream::Status KeptStream::status() const {
  const std::lock_guard lock(mutex_);
  Status out = status_;
  out.n_readers = static_cast<uint32_t>(
      std::ranges::count_if(listeners_, [](const auto& listener) { return !listener.expired(); }));
  return out;
}

std::optional<KeptStream::Head> KeptStream::head() const {
  const std::lock_guard lock(mutex_);
  return head_;
}

KeptStream::Bytes KeptStream::bytes(uint64_t from, size_t most) const {
  const std::lock_guard lock(mutex_);
  Bytes out;
  if (from < status_.first || from > status_.n_bytes) {
    out.lost = true;
    return out;
  }
  while (from < status_.n_bytes && out.bytes.size() < most) {
    const uint64_t at = from - status_.first;
    const std::string& block = blocks_[static_cast<size_t>(at / kBlock)];
    const size_t before = out.bytes.size();
    out.bytes.append(block, static_cast<size_t>(at % kBlock), most - before);
    from += out.bytes.size() - before;
  }
  out.ended = status_.done && from == status_.n_bytes;
  out.cut = cut_;
  return out;
}

void KeptStream::tell() {
  std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
  for (const auto& weak : listeners_) {
    if (const auto listener = weak.lock()) listener->told();
  }
}

std::shared_ptr<void> KeptStream::listen(std::function<void()> told) {
  auto listener = std::make_shared<Listener>(Listener{std::move(told)});
  const std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
  return listener;
}

}  // namespace puna::server
