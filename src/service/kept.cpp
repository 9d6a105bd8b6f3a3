#include "service/kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crc32.h"

namespace puna::service {

using base::Result;
using base::Task;

namespace {

// Files are told apart by their heads, where their shapes stand, and by their weights here and
// there; to read all of a large one would take minutes.
constexpr uint64_t kSamples = 64;
constexpr uint64_t kSampleBytes = 4096;

Task<Result<void>> save_now(LoadedModel& model, std::vector<int32_t>& text, std::string name,
                            io::ByteSink& sink) {
  text.resize(model.engine->cache().prefixes().find(text).total());
  if (!text.empty()) co_return co_await model.engine->save(text, 0, std::move(name), sink);
  co_return sink.write(engine::head_bytes({model.engine->identity(name), 0, {}}));
}

// A piece that ends behind so many tokens: others give way where it needs their pages.
Task<Result<void>> take_up(LoadedModel& model, uint32_t end, std::vector<int32_t> text,
                           std::string name, io::ByteSource& source) {
  // A longer one is refused, and nobody gives way for it.
  std::vector<uint32_t> length(1, end <= model.engine->context() ? end : 0);
  co_return co_await model.scheduler->alone(std::move(length), [&](engine::Scheduler::Sequences s) {
    return model.engine->restore(s[0], std::move(text), std::move(name), source);
  });
}

Task<Result<void>> forget_now(LoadedModel& model, std::vector<int32_t> text, uint32_t first) {
  model.engine->cache().forget_text(text, first);
  co_return {};
}

}  // namespace

uint32_t n_known(const LoadedModel& model, std::span<const int32_t> tokens) {
  return model.engine->cache().n_known(tokens);
}

std::vector<engine::Engine::KeptText> kept_texts(const LoadedModel& model) {
  return model.engine->kept_texts();
}

base::Json identity(const LoadedModel& model, const std::string& name) {
  return model.engine->identity(name);
}

Task<Result<void>> save(LoadedModel& model, std::vector<int32_t> text, uint32_t first,
                        std::string name, io::ByteSink& sink) {
  co_return co_await model.scheduler->alone({}, [&](engine::Scheduler::Sequences) {
    return model.engine->save(std::move(text), first, std::move(name), sink);
  });
}

Task<Result<void>> restore(LoadedModel& model, std::vector<int32_t> text, std::string name,
                           io::ByteSource& source) {
  PUNA_CO_TRY(const engine::PieceHead head, co_await engine::read_head(source));
  co_return co_await take_up(model, head.end(), std::move(text), std::move(name), source);
}

Task<Result<uint32_t>> save_known(LoadedModel& model, std::vector<int32_t> text, std::string name,
                                  io::ByteSink& sink) {
  PUNA_CO_TRY(co_await model.scheduler->alone({}, [&](engine::Scheduler::Sequences) {
    return save_now(model, text, std::move(name), sink);
  }));
  co_return static_cast<uint32_t>(text.size());
}

Task<Result<std::vector<int32_t>>> restore_known(LoadedModel& model, std::string name,
                                                 io::ByteSource& source) {
  PUNA_CO_TRY(engine::PieceHead head, co_await engine::read_head(source));
  if (head.tokens.empty()) {
    PUNA_CO_TRY(engine::check_identity(head.identity, identity(model, name)));
    if (engine::head_bytes(head).size() != source.size())
      co_return base::fail(base::ErrorCode::kCorrupt, "Behind the head of no text there is more.");
  } else {
    PUNA_CO_TRY(co_await take_up(model, head.end(), head.tokens, std::move(name), source));
  }
  co_return std::move(head.tokens);
}

Task<Result<void>> forget(LoadedModel& model, std::vector<int32_t> text, uint32_t first) {
  co_return co_await model.scheduler->alone(
      {}, [&](engine::Scheduler::Sequences) { return forget_now(model, std::move(text), first); });
}

Task<Result<std::string>> fingerprint(const LoadedModel& model) {
  uint32_t crc = 0;
  std::vector<std::byte> sample;
  for (const auto& source : model.engine->file().sources) {
    const uint64_t size = source->size();
    crc = base::crc32(std::as_bytes(std::span(&size, 1)), crc);
    sample.resize(static_cast<size_t>(std::min(size, kSampleBytes)));
    const uint64_t step = (size - sample.size()) / (kSamples - 1);
    for (uint64_t i = 0; i < kSamples; ++i) {
      PUNA_CO_TRY(co_await io::read(*source, i * step, sample));
      crc = base::crc32(sample, crc);
    }
  }
  co_return fmt::format("{} {:08x}", model.name, crc);
}

}  // namespace puna::service
