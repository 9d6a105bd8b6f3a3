#include "service/senses.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "store/sha256.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using base::Task;
using models::Sense;

namespace {

constexpr Sense kSenses[] = {Sense::kPictures, Sense::kSounds};

const char* plural(Sense sense) { return sense == Sense::kPictures ? "pictures" : "sounds"; }

uint64_t bytes_of(const EncodedMedia& media) { return media.rows.size() * sizeof(float); }

}  // namespace

Task<Result<std::unique_ptr<Senses>>> Senses::load(OpenFile open, DeviceUse use,
                                                   SensesOptions options) {
  const engine::LoadHooks hooks = std::exchange(options.hooks, {});
  std::unique_ptr<Senses> out(new Senses(std::move(open), std::move(use), std::move(options)));
  for (const Sense sense : kSenses) {
    PUNA_CO_TRY(formats::ModelFile file, co_await out->open_());
    out->name_ = file.name;
    if (!models::has_encoder(file, sense)) continue;
    PUNA_CO_TRY(co_await out->open(sense, std::move(file), hooks));
  }
  if (out->ones_.empty()) {
    co_return base::fail(ErrorCode::kUnsupported,
                         fmt::format("The file {} has no encoder of pictures or sounds; it is no "
                                     "mmproj file.",
                                     out->name_));
  }
  co_return out;
}

const Senses::One* Senses::of(Sense sense) const {
  for (const auto& [each, one] : ones_) {
    if (each == sense) return one.get();
  }
  return nullptr;
}

const MediaReader* Senses::reader(Sense sense) const {
  const One* const one = of(sense);
  return one ? &one->reader : nullptr;
}

uint32_t Senses::most_rows_both_ways() const {
  const MediaReader* const pictures = reader(Sense::kPictures);
  if (!pictures || !pictures->config().projector.both_ways) return 0;
  const uint32_t merge = pictures->config().rows.merge;
  return pictures->most_patches() / (merge * merge);
}

Result<void> Senses::check_fits(uint32_t hidden, const std::string& model) const {
  for (const auto& [sense, one] : ones_)
    PUNA_TRY(models::check_fits(one->reader.config().projector, name_, hidden, model));
  return {};
}

Task<Result<void>> Senses::open(Sense sense, formats::ModelFile file, engine::LoadHooks hooks) {
  auto one = std::make_unique<One>();
  PUNA_CO_TRY_CONTEXT(one->reader, MediaReader::create(file, sense, options_.picture_tokens),
                      fmt::format("While loading {}", file.name));
  const uint32_t most = one->reader.most_patches();
  const uint32_t n_patches =
      options_.picture_tokens.most ? most : std::min(most, engine::kUsualTileRows);
  PUNA_CO_TRY(one->encoder,
              co_await load_encoder(std::move(file), one->reader, n_patches, std::move(hooks)));
  ones_.emplace_back(sense, std::move(one));
  co_return {};
}

Task<Result<std::unique_ptr<engine::Encoder>>> Senses::load_encoder(formats::ModelFile file,
                                                                    const MediaReader& reader,
                                                                    uint32_t n_patches,
                                                                    engine::LoadHooks hooks) {
  engine::EncoderOptions how;
  how.sense = reader.config().projector.sense;
  how.max_rows = n_patches;
  how.max_tiles = reader.most_tiles();
  how.numerics = options_.numerics;
  how.profile = options_.profile.get();
  how.threads = options_.threads;
  how.n_threads = options_.n_threads;
  co_return co_await engine::Encoder::load(std::move(file), std::move(how), use_.device.get(),
                                           std::move(hooks));
}

// Where memory is planned for smaller pictures, for at least twice as large ones. One of the size
// before takes the place of one that cannot be had. Nobody watches these loads.
Task<Result<void>> Senses::make_room(One& one, uint32_t n_patches) {
  if (one.encoder) one.n_patches = one.encoder->max_rows();
  const uint32_t before = one.n_patches;
  if (one.encoder && n_patches <= before) co_return {};
  const uint32_t wanted = std::max(n_patches, std::min(2 * before, one.reader.most_patches()));
  PUNA_CO_TRY(formats::ModelFile file, co_await open_());
  PUNA_CO_TRY(formats::ModelFile again, co_await open_());
  one.encoder.reset();  // there may be no room for both
  auto larger = co_await load_encoder(std::move(file), one.reader, wanted, {});
  if (larger) {
    one.encoder = *std::move(larger);
    co_return {};
  }
  PUNA_CO_TRY(one.encoder, co_await load_encoder(std::move(again), one.reader, before, {}));
  co_return std::unexpected(std::move(larger.error()));
}

store::Digest Senses::key_of(const MediaFile& file) {
  store::Sha256 hash;
  const auto sense = static_cast<std::byte>(file.sense);
  hash.add(std::span(&sense, 1));
  hash.add(file.bytes);
  return hash.finish();
}

std::shared_ptr<const EncodedMedia> Senses::find(const store::Digest& key) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  ++status_.n_found;
  return found->second->second;
}

void Senses::keep(const store::Digest& key, std::shared_ptr<const EncodedMedia> media) {
  const std::lock_guard lock(mutex_);
  ++status_.n_encoded;
  const uint64_t bytes = bytes_of(*media);
  if (bytes > options_.cache_bytes || places_.contains(key)) return;
  status_.bytes_kept += bytes;
  kept_.emplace_front(key, std::move(media));
  places_[key] = kept_.begin();
  while (status_.bytes_kept > options_.cache_bytes) {
    status_.bytes_kept -= bytes_of(*kept_.back().second);
    places_.erase(kept_.back().first);
    kept_.pop_back();
  }
}

Result<MediaInput> Senses::read(const MediaFile& file, const MayTake& may_take) const {
  const One* const one = of(file.sense);
  if (one) return one->reader.read(file, may_take);
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The encoder {} takes no {}.", name_, plural(file.sense)));
}

Senses::Status Senses::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

Task<bool> Senses::take_turn() {
  if (!std::exchange(is_running_, true)) co_return true;
  co_return co_await base::await_callback<bool>(
      [&](std::function<void(bool)> done) { turns_.push_back(std::move(done)); });
}

void Senses::end_turn() {
  is_running_ = !turns_.empty();
  if (!is_running_) return;
  const auto next = std::move(turns_.front());
  turns_.pop_front();
  next(true);
}

Task<Result<engine::Encoded>> Senses::run_beside(engine::Scheduler* scheduler, One& one,
                                                 std::vector<models::EncoderInput> tiles) {
  using Sequences = engine::Scheduler::Sequences;
  bool over = false;
  const auto start = [&](Sequences) -> Task<Result<void>> {
    uint32_t n_patches = 1;
    for (const models::EncoderInput& tile : tiles) {
      PUNA_CO_TRY(const uint32_t n,
                  models::count_rows(one.reader.config(), tile.height, tile.width));
      n_patches = std::max(n_patches, n);
    }
    PUNA_CO_TRY(co_await make_room(one, n_patches));
    PUNA_CO_TRY(one.encoder->begin(std::move(tiles)));
    co_return {};
  };
  const double piece_ms = scheduler ? options_.piece_ms : std::numeric_limits<double>::infinity();
  const auto go_on = [&](Sequences) -> Task<Result<void>> {
    PUNA_CO_TRY(over, co_await one.encoder->advance(piece_ms));
    co_return {};
  };
  const auto run_job = [&](engine::Scheduler::Job job) -> Task<Result<void>> {
    if (scheduler) co_return co_await scheduler->alone({}, std::move(job));
    co_return co_await job({});
  };
  PUNA_CO_TRY(co_await run_job(start));
  while (!over) PUNA_CO_TRY(co_await run_job(go_on));
  co_return one.encoder->take();
}

Task<Result<engine::Encoded>> Senses::run(engine::Scheduler* scheduler, Sense sense,
                                          std::vector<models::EncoderInput> tiles) {
  for (const auto& [each, one] : ones_) {
    if (each != sense) continue;
    co_await take_turn();
    auto out = co_await run_beside(scheduler, *one, std::move(tiles));
    end_turn();
    co_return out;
  }
  co_return base::fail(ErrorCode::kUnsupported,
                       fmt::format("The encoder {} takes no {}.", name_, plural(sense)));
}

Task<Result<std::shared_ptr<const EncodedMedia>>> Senses::encode(engine::Scheduler* scheduler,
                                                                 const store::Digest& key,
                                                                 const MediaInput& input) {
  // Another request may have brought the same file.
  if (auto known = find(key)) co_return known;
  const std::string encoding = fmt::format("While encoding {}", input.name);
  const MediaReader* const by = reader(input.sense);
  PUNA_CHECK(by);  // which has read it
  const MediaReader::Tiles tiles = by->tiles(input);
  PUNA_CO_TRY_CONTEXT(engine::Encoded encoded, co_await run(scheduler, input.sense, tiles.inputs),
                      encoding);
  std::shared_ptr<const EncodedMedia> out = by->encoded(input, std::move(encoded.media.rows));
  keep(key, out);
  co_return out;
}

void Senses::poll() {
  if (use_.device) use_.device->poll();
}

}  // namespace puna::service
