// Engine: saving what its cache holds of a text, and taking it up again.
#include <fmt/format.h>

#include <algorithm>

#include "base/crc32.h"
#include "engine/engine.h"

namespace puna::engine {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;
using base::Task;

namespace {

constexpr uint64_t kCrcBytes = sizeof(uint32_t);

// Pages that hold tokens [first, end).
struct Pages {
  uint32_t first, end;
  Pages(uint32_t first_token, uint32_t end_token)
      : first(first_token / kernels::kPageTokens),
        end(static_cast<uint32_t>(kernels::pages_for(end_token))) {}
};

// Of a page, with what layers with windows have of it.
uint64_t page_bytes(const KeptBytes& kept) { return kept.page + kept.window; }

// Bytes behind the head.
uint64_t body_bytes(const KeptBytes& kept, const Pages& pages, bool with_states) {
  uint64_t bytes = (pages.end - pages.first) * (page_bytes(kept) + kCrcBytes);
  for (const uint64_t state : kept.states) bytes += with_states ? state + kCrcBytes : 0;
  return bytes;
}

uint64_t most_at_once(const KeptBytes& kept) {
  uint64_t most = page_bytes(kept);
  for (const uint64_t state : kept.states) most = std::max(most, state);
  return most;
}

Result<void> write_checked(io::ByteSink& sink, std::span<const std::byte> bytes) {
  PUNA_TRY(sink.write(bytes));
  const uint32_t crc = base::crc32(bytes);
  return sink.write(std::as_bytes(std::span(&crc, 1)));
}

// Reads parts and their CRC-32, one after the other.
class PartReader {
 public:
  PartReader(io::ByteSource& source, uint64_t at, uint64_t most)
      : source_(source), at_(at), buffer_(static_cast<size_t>(most + kCrcBytes)) {}

  Task<Result<std::span<const std::byte>>> next(uint64_t n_bytes) {
    const auto n = static_cast<size_t>(n_bytes);
    const auto both = std::span(buffer_).first(n + kCrcBytes);
    PUNA_CO_TRY(co_await io::read(source_, at_, both));
    uint32_t crc = 0;
    std::copy(both.end() - kCrcBytes, both.end(),
              std::as_writable_bytes(std::span(&crc, 1)).begin());
    const std::span<const std::byte> bytes = both.first(n);
    if (base::crc32(bytes) != crc) {
      co_return fail(
          ErrorCode::kCorrupt,
          fmt::format("The piece is damaged: {} bytes at {} have another CRC-32.", n, at_));
    }
    at_ += both.size();
    co_return bytes;
  }

 private:
  io::ByteSource& source_;
  uint64_t at_;
  std::vector<std::byte> buffer_;
};

// What is saved stays where it is while room is made for pages that come back from host memory.
class Pinned {
 public:
  Pinned(Prefixes& prefixes, std::vector<Prefixes::NodeId> nodes)
      : prefixes_(prefixes), nodes_(std::move(nodes)) {
    for (const Prefixes::NodeId node : nodes_) prefixes_.pin(node);
  }
  ~Pinned() {
    for (const Prefixes::NodeId node : nodes_) prefixes_.unpin(node);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  Prefixes& prefixes_;
  std::vector<Prefixes::NodeId> nodes_;
};

// The nodes that hold the pages of tokens [0, end) of a text, where `end` may lie in the last one.
std::vector<Prefixes::NodeId> nodes_of(const Prefixes& prefixes, std::span<const int32_t> text) {
  const Prefixes::Found found = prefixes.find(text);
  std::vector<Prefixes::NodeId> out = prefixes.path(found.node);
  if (found.part != Prefixes::kRoot) out.push_back(found.part);
  return out;
}

}  // namespace

Json Engine::identity(const std::string& model) const {
  const KeptBytes kept = executor_->kept_bytes();
  Json states = Json::array();
  for (const uint64_t bytes : kept.states) states.push(bytes);
  std::string on = device_ ? device_->info().name : "cpu";
  if (placement_.stages.size() > 1)
    on += fmt::format(" ({} of {} layers)", placement_.layers_on(true), placement_.n_layers);
  if (placement_.cpu_experts > 0)
    on += fmt::format(" (without the experts of {} layers)", placement_.cpu_experts);
  Json out = Json::object();
  out.set("engine", PUNA_VERSION).set("model", model).set("architecture", config_.architecture);
  out.set("device", on)
      .set("numerics", options_.numerics == kernels::Numerics::kExact ? "exact" : "fast");
  out.set("kv_type", kernels::name(options_.kv_type)).set("page_tokens", kernels::kPageTokens);
  // Without what layers with windows have where that is apart: it lies elsewhere in a page then.
  return out.set("page_bytes", kept.page).set("state_bytes", std::move(states));
}

std::vector<Engine::KeptText> Engine::kept_texts() const {
  const Prefixes& prefixes = cache_->prefixes();
  std::vector<KeptText> out;
  for (const Prefixes::NodeId end : prefixes.ends()) {
    KeptText text;
    for (const Prefixes::NodeId node : prefixes.path(end)) {
      const std::span<const int32_t> tokens = prefixes.tokens(node);
      text.tokens.insert(text.tokens.end(), tokens.begin(), tokens.end());
    }
    const auto n = static_cast<uint32_t>(text.tokens.size());
    if (recurrent_) {
      const uint32_t known = prefixes.find(text.tokens).total();
      if (known == 0) continue;
      text.ends.push_back(known);
    } else {
      for (uint32_t at = kPieceTokens; at <= n; at += kPieceTokens) text.ends.push_back(at);
      const uint32_t whole = n / kernels::kPageTokens * kernels::kPageTokens;
      if (whole % kPieceTokens != 0) text.ends.push_back(whole);
    }
    out.push_back(std::move(text));
  }
  return out;
}

Task<Result<void>> Engine::save(std::vector<int32_t> text, uint32_t first, std::string model,
                                io::ByteSink& sink) {
  Prefixes& prefixes = cache_->prefixes();
  const auto end = static_cast<uint32_t>(text.size());
  const std::vector<Prefixes::NodeId> nodes = nodes_of(prefixes, text);
  if (first >= end || prefixes.find(text).total() != end || (recurrent_ && first > 0)) {
    co_return fail(ErrorCode::kInvalidArgument,
                   fmt::format("Tokens {} to {} of a text of which {} are known are no piece.",
                               first, end, prefixes.find(text).total()));
  }
  const Pinned pinned(prefixes, nodes);
  PUNA_CO_TRY(sink.write(head_bytes({identity(model), first, text})));
  const KeptBytes kept = executor_->kept_bytes();
  std::vector<std::byte> buffer(static_cast<size_t>(most_at_once(kept)));
  const Pages pages(first, end);
  const auto page = std::span(buffer).first(static_cast<size_t>(page_bytes(kept)));
  for (uint32_t i = pages.first; i < pages.end; ++i) {
    if (!prefixes.has_window(nodes[i])) {
      co_return fail(ErrorCode::kUnsupported,
                     fmt::format("Of token {} the cache has no more what layers with windows need; "
                                 "only texts that are there as a whole can be saved.",
                                 i * kernels::kPageTokens));
    }
    PUNA_CO_TRY(const uint32_t resident, co_await cache_->resident_page(nodes[i]));
    PUNA_CO_TRY(co_await executor_->read_page(cache_->place_of(resident), page));
    PUNA_CO_TRY(write_checked(sink, page));
  }
  for (size_t i = 0; i < kept.states.size(); ++i) {
    const auto state = std::span(buffer).first(static_cast<size_t>(kept.states[i]));
    PUNA_CO_TRY(co_await executor_->read_state(*prefixes.state(nodes.back()), i, state));
    PUNA_CO_TRY(write_checked(sink, state));
  }
  co_return {};
}

Task<Result<void>> Engine::restore(uint32_t sequence, std::vector<int32_t> text, std::string model,
                                   io::ByteSource& source) {
  PUNA_CO_TRY(const PieceHead head, co_await read_head(source));
  PUNA_CO_TRY(check_identity(head.identity, identity(model)));
  if (recurrent_ && cache_->prefixes().n_states() == 0) {
    co_return fail(ErrorCode::kUnsupported,
                   "The engine keeps no copies of recurrent states (--ctx-checkpoints 0), so no "
                   "saved text can be taken up.");
  }
  // Media are ids below zero, of which nothing else is known here.
  for (const int32_t& id : head.tokens) {
    if (id >= 0) PUNA_CO_TRY(check_tokens(std::span(&id, 1)));
  }
  const bool begins_text =
      text.size() >= head.end() && std::equal(head.tokens.begin(), head.tokens.end(), text.begin());
  const std::vector<int32_t> before(head.tokens.begin(), head.tokens.begin() + head.first);
  if (head.tokens.empty() || !begins_text ||
      cache_->prefixes().find(before).total() != head.first || head.end() > context_ ||
      (recurrent_ && head.first > 0)) {
    co_return fail(ErrorCode::kInvalidArgument,
                   fmt::format("The piece of tokens {} to {} does not go on with this text.",
                               head.first, head.end()));
  }
  const KeptBytes kept = executor_->kept_bytes();
  const Pages pages(head.first, head.end());
  const uint64_t at = head_bytes(head).size();
  const uint64_t expected = at + body_bytes(kept, pages, recurrent_);
  if (source.size() != expected) {
    co_return fail(ErrorCode::kCorrupt,
                   fmt::format("The piece has {} bytes in place of {}.", source.size(), expected));
  }
  PUNA_CO_TRY(co_await cache_->begin(sequence, before));
  auto taken = co_await take_up(sequence, head, at, source);
  cache_->forget(sequence);
  co_return taken;
}

Task<Result<void>> Engine::take_up(uint32_t sequence, const PieceHead& head, uint64_t at,
                                   io::ByteSource& source) {
  const KeptBytes kept = executor_->kept_bytes();
  PartReader parts(source, at, most_at_once(kept));
  PUNA_CO_TRY(co_await cache_->make_room(sequence, head.end()));
  const Pages pages(head.first, head.end());
  for (uint32_t i = pages.first; i < pages.end; ++i) {
    PUNA_CO_TRY(const std::span<const std::byte> page, co_await parts.next(page_bytes(kept)));
    PUNA_CO_TRY(executor_->write_page(cache_->place_of(cache_->pages(sequence)[i]), page));
  }
  std::vector<std::vector<std::byte>> states;
  for (const uint64_t bytes : kept.states) {
    PUNA_CO_TRY(const std::span<const std::byte> state, co_await parts.next(bytes));
    states.emplace_back(state.begin(), state.end());
  }
  // All of it is right.
  cache_->append(sequence, std::span(head.tokens).subspan(head.first));
  PUNA_CO_TRY(cache_->keep(sequence));
  if (!recurrent_) co_return {};
  const Prefixes& prefixes = cache_->prefixes();
  const uint32_t slot = *prefixes.state(nodes_of(prefixes, head.tokens).back());
  for (size_t i = 0; i < states.size(); ++i)
    PUNA_CO_TRY(executor_->write_state(slot, i, states[i]));
  co_return {};
}

}  // namespace puna::engine
