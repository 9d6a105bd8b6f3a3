#include "page_media.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "api/media.h"
#include "formats/open.h"
#include "io/byte_source.h"
#include "page_source.h"
#include "service/request_media.h"

namespace puna::page {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;
using base::Task;
using models::Sense;
using service::Senses;

namespace {

struct Part {
  std::string path;
  uint64_t size = 0;
  bool at_once = false;
};

Result<Part> part_of(const Json& json) {
  Part out;
  PUNA_TRY(out.path, json.get_string("path"));
  PUNA_TRY(const double size, json.get_number("size"));
  out.size = static_cast<uint64_t>(size);
  PUNA_TRY(out.at_once, json.get_bool("at_once"));
  return out;
}

Result<Sense> sense_of(const Json& json) {
  PUNA_TRY(const std::string sense, json.get_string("sense"));
  return sense == "audio" ? Sense::kSounds : Sense::kPictures;
}

// The bytes of a file that the page lends.
Task<Result<std::vector<std::byte>>> bytes_of(const Json& file, std::string name) {
  PUNA_CO_TRY(const int64_t part, file.get_integer("part"));
  PUNA_CO_TRY(const int64_t size, file.get_integer("size"));
  const auto source = part_source(static_cast<uint32_t>(part), std::move(name),
                                  static_cast<uint64_t>(size), /*at_once=*/false);
  std::vector<std::byte> out(static_cast<size_t>(size));
  PUNA_CO_TRY(co_await io::read(*source, 0, out));
  co_return out;
}

// A job of the host.
template <class T>
Task<Result<T>> on_engine(service::Host& host, service::Host::Job<T> job) {
  co_return co_await base::await_callback<Result<T>>([&](std::function<void(Result<T>)> done) {
    host.post_job<T>(std::move(job), std::move(done));
  });
}

Result<Senses*> senses_of(const service::Host& host) {
  if (Senses* const senses = host.model().senses.get()) return senses;
  return fail(ErrorCode::kUnsupported,
              fmt::format("The model {} was loaded without an encoder; give one as mmproj.",
                          host.model().name));
}

// The tiles of an array with this shape, as an encoder reads them.
Result<std::vector<models::EncoderInput>> tiles_of(std::span<const float> values,
                                                   const std::vector<uint64_t>& shape) {
  const auto size = [&](size_t i) { return static_cast<uint32_t>(shape[i]); };
  const bool sound = shape.size() == 2;
  uint64_t n = 1;
  bool fits = sound || (shape.size() == 4 && shape[3] == 3);
  for (const uint64_t each : shape) {
    fits = fits && each > 0 && each <= values.size();
    if (fits) n *= each;
    fits = fits && n <= values.size();
  }
  if (!fits || n != values.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} numbers have the shape ({}); pictures are (tiles, height, width, "
                            "3), sounds (mel bins, frames).",
                            values.size(), fmt::join(shape, ", ")));
  }
  std::vector<models::EncoderInput> out;
  if (sound) {
    out.push_back({values, size(0), size(1)});
    return out;
  }
  const size_t each = values.size() / size(0);
  for (size_t i = 0; i < size(0); ++i)
    out.push_back({values.subspan(i * each, each), size(1), size(2)});
  return out;
}

Result<std::vector<uint64_t>> shape_of(const Json& body) {
  std::vector<uint64_t> out;
  const Json* const list = body.find("shape");
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& each : list->items()) {
    if (!each.is_integer() || each.integer() < 0)
      return fail(ErrorCode::kInvalidArgument, "A shape is a list of whole numbers.");
    out.push_back(static_cast<uint64_t>(each.integer()));
  }
  return out;
}

}  // namespace

Task<Result<std::shared_ptr<Senses>>> load_senses(const Json& options, uint32_t index,
                                                  service::DeviceUse use,
                                                  engine::EngineOptions& engine, uint32_t hidden) {
  const Json* const mmproj = options.find("mmproj");
  if (mmproj == nullptr || mmproj->is_null()) co_return nullptr;
  PUNA_CO_TRY(const Part part, part_of(*mmproj));
  service::SensesOptions how;
  how.numerics = engine.numerics;
  if (options.find("image_max_tokens") != nullptr) {
    PUNA_CO_TRY(const int64_t most, options.get_integer("image_max_tokens"));
    if (most < 1 || most > UINT32_MAX)
      co_return fail(ErrorCode::kInvalidArgument,
                     fmt::format("{} tokens a picture are asked for.", most));
    how.picture_tokens.most = static_cast<uint32_t>(most);
  }
  if (!use.device && !engine.threads)
    engine.threads = std::make_shared<base::ThreadPool>(engine.n_threads);
  how.threads = engine.threads;
  how.n_threads = engine.n_threads;
  how.hooks.cancel = engine.hooks.cancel;
  const auto open = [part, index]() -> Task<Result<formats::ModelFile>> {
    co_return co_await formats::open_model(part_source(index, part.path, part.size, part.at_once));
  };
  PUNA_CO_TRY(std::shared_ptr<Senses> senses,
              co_await Senses::load(open, std::move(use), std::move(how)));
  PUNA_CO_TRY(const std::string name, options.get_string("name"));
  PUNA_CO_TRY(senses->check_fits(hidden, name));
  engine.media = true;
  co_return senses;
}

Json media_json(const Senses* senses) {
  if (senses == nullptr) return {};
  Json out = Json::object();
  const service::MediaReader* const sees = senses->reader(Sense::kPictures);
  const service::MediaReader* const hears = senses->reader(Sense::kSounds);
  out.set("images", sees != nullptr).set("audio", hears != nullptr);
  out.set("width", (sees ? sees : hears)->config().projector.row_width());
  return out.set("marker", api::media_marker());
}

Task<Result<std::shared_ptr<const service::MediaFile>>> read_media(const Json& file) {
  PUNA_CO_TRY(const Sense sense, sense_of(file));
  const char* const name = sense == Sense::kPictures ? "the picture" : "the sound";
  service::MediaFile out{.name = name, .sense = sense, .bytes = {}};
  PUNA_CO_TRY(out.bytes, co_await bytes_of(file, name));
  co_return std::make_shared<const service::MediaFile>(std::move(out));
}

Task<Result<void>> encode_media(service::Host& host, service::Request& request) {
  const std::span<service::Request> requests(&request, 1);
  if (!service::RequestMedia::any(requests)) co_return {};
  auto media = service::RequestMedia::find(host.model(), requests);
  PUNA_CO_TRY(media.read(host.model(), requests));
  if (media.is_encoded()) {
    media.place(requests);
    co_return {};
  }
  static constinit const std::atomic<bool> kNever = false;
  const std::atomic<bool>& cancel = request.control ? request.control->cancel : kNever;
  PUNA_CO_TRY(co_await on_engine<void>(
      host, [&](service::LoadedModel& model) { return media.encode(model, cancel); }));
  media.place(requests);
  co_return {};
}

Task<Result<std::vector<float>>> media_rows(service::Host& host, const Json& body) {
  PUNA_CO_TRY(Senses* const senses, senses_of(host));
  PUNA_CO_TRY(const std::vector<uint64_t> shape, shape_of(body));
  if (!shape.empty()) {
    PUNA_CO_TRY(const Sense sense, sense_of(body));
    PUNA_CO_TRY(const std::vector<std::byte> bytes, co_await bytes_of(body, "the numbers"));
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    PUNA_CO_TRY(const std::vector<models::EncoderInput> tiles, tiles_of(values, shape));
    PUNA_CO_TRY(engine::Encoded out,
                co_await on_engine<engine::Encoded>(host, [&](service::LoadedModel& model) {
                  return senses->run(model.scheduler.get(), sense, tiles);
                }));
    co_return std::move(out.media.rows);
  }
  PUNA_CO_TRY(const auto file, co_await read_media(body));
  service::Request request;
  request.media.push_back({.file = file});
  PUNA_CO_TRY(co_await encode_media(host, request));
  co_return request.media.front().media->rows;
}

Task<Result<engine::Prompt>> marked_prompt(service::Host& host, const Json& body) {
  PUNA_CO_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(host.model()));
  PUNA_CO_TRY(const std::string text, body.get_string("prompt"));
  service::UnmarkedText unmarked = service::take_marks(text);
  const Json* const files = body.find("files");
  const size_t n_files = files == nullptr ? 0 : files->items().size();
  if (unmarked.places.size() != n_files) {
    co_return fail(ErrorCode::kInvalidArgument,
                   fmt::format("The prompt has {} marks {} for {} pictures and sounds.",
                               unmarked.places.size(), service::kMediaMark, n_files));
  }
  service::Request request;
  for (size_t i = 0; i < n_files; ++i) {
    PUNA_CO_TRY(auto file, co_await read_media(files->items()[i]));
    request.media.push_back({.at = unmarked.places[i], .file = std::move(file)});
  }
  PUNA_CO_TRY(co_await encode_media(host, request));
  co_return service::media_prompt(*tokenizer, unmarked.text, request.media, /*ends=*/true);
}

}  // namespace puna::page
