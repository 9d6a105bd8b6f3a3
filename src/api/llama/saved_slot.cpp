#include "api/llama/saved_slot.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "io/output_file.h"
#include "service/kept.h"

namespace puna::api::llama {

using base::ErrorCode;
using base::Json;
using base::Result;
using base::Task;
using service::LoadedModel;

namespace {

class CountingSink final : public io::ByteSink {
 public:
  explicit CountingSink(io::ByteSink& sink) : sink_(sink) {}

  Result<void> write(std::span<const std::byte> bytes) override {
    n_bytes_ += bytes.size();
    return sink_.write(bytes);
  }
  Result<void> finish() override { return sink_.finish(); }
  uint64_t n_bytes() const { return n_bytes_; }

 private:
  io::ByteSink& sink_;
  uint64_t n_bytes_ = 0;
};

std::string path_of(const SavedSlot& saved) {
  return saved.folder + (saved.folder.ends_with('/') ? "" : "/") + saved.filename;
}

Json answer(const SavedSlot& saved, const char* n_tokens, size_t tokens, const char* n_bytes,
            uint64_t bytes, const char* time, const base::Timer& timer) {
  Json out = Json::object();
  out.set("id_slot", *saved.slot->slot()).set("filename", saved.filename);
  out.set(n_tokens, static_cast<uint64_t>(tokens)).set(n_bytes, bytes);
  return out.set("timings", Json::object().set(time, timer.ms()));
}

Task<Result<HttpReply>> save(LoadedModel& model, SavedSlot saved) {
  const base::Timer timer;
  Result<io::OutputPlace> place = io::find_output(path_of(saved), {});
  const bool is_file = place && place->kind == io::OutputPlace::Kind::kFile;
  if (!is_file && (place || place.error().code == ErrorCode::kUsage)) {
    co_return base::fail(ErrorCode::kInvalidArgument,
                         fmt::format("\"{}\" is there already and no file.", saved.filename));
  }
  if (!place) co_return std::unexpected(std::move(place.error()));
  place->name = saved.filename;  // in what is told of it
  PUNA_CO_TRY(const std::string whose, co_await service::fingerprint(model));
  PUNA_CO_TRY(const std::unique_ptr<io::ByteSink> file, io::open_output(*place));
  CountingSink sink(*file);
  PUNA_CO_TRY(const uint32_t n,
              co_await service::save_known(model, saved.slot->tokens(), whose, sink));
  PUNA_CO_TRY(sink.finish());
  co_return HttpReply::json(
      answer(saved, "n_saved", n, "n_written", sink.n_bytes(), "save_ms", timer));
}

Task<Result<HttpReply>> restore(LoadedModel& model, SavedSlot saved) {
  const base::Timer timer;
  const auto file = io::open_file(path_of(saved));
  if (!file) {
    co_return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("There is no saved text \"{}\" that can be read.", saved.filename));
  }
  PUNA_CO_TRY(const std::string whose, co_await service::fingerprint(model));
  PUNA_CO_TRY_CONTEXT(std::vector<int32_t> tokens,
                      co_await service::restore_known(model, whose, **file),
                      fmt::format("While restoring \"{}\"", saved.filename));
  const size_t n = tokens.size();
  if (saved.hosts) saved.hosts->note(model, tokens);
  saved.slot->replace(std::move(tokens), /*forget=*/false);
  co_return HttpReply::json(
      answer(saved, "n_restored", n, "n_read", (*file)->size(), "restore_ms", timer));
}

Task<Result<HttpReply>> erase(LoadedModel& model, std::shared_ptr<SlotTable::Use> slot) {
  std::vector<int32_t> tokens = slot->tokens();
  Json out = Json::object();
  out.set("id_slot", *slot->slot()).set("n_erased", static_cast<uint64_t>(tokens.size()));
  PUNA_CO_TRY(co_await service::forget(model, std::move(tokens), slot->n_shared()));
  slot->replace({}, /*forget=*/true);
  co_return HttpReply::json(out);
}

// The slot is free before its client is told, who may ask for it again at once.
Task<Result<HttpReply>> leaving(std::shared_ptr<SlotTable::Use> slot,
                                Task<Result<HttpReply>> work) {
  Result<HttpReply> out = co_await std::move(work);
  slot->leave();
  co_return out;
}

}  // namespace

Job save_job(const SavedSlot& saved) {
  return {.run = [saved](LoadedModel& model) { return leaving(saved.slot, save(model, saved)); },
          .text = saved.slot->tokens()};
}

Job restore_job(const SavedSlot& saved) {
  return {
      .run = [saved](LoadedModel& model) { return leaving(saved.slot, restore(model, saved)); }};
}

Job erase_job(const std::shared_ptr<SlotTable::Use>& slot) {
  return {.run = [slot](LoadedModel& model) { return leaving(slot, erase(model, slot)); },
          .text = slot->tokens()};
}

}  // namespace puna::api::llama
