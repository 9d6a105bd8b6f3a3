#include "service/find_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "formats/open.h"
#include "models/vision/encoder.h"
#include "service/model_card.h"
#include "store/projector.h"
#include "store/store.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using models::Sense;

namespace {

// A special token that the encoder puts around its rows and the model does not have; empty: there
// is none. Encoders of another family may be as wide as the model.
std::string lacking_token(const models::Projector& projector, const formats::ModelFile& model) {
  models::MediaShape shape;
  shape.tiles = {{.rows = 1, .columns = 1}};
  const std::vector<std::string>& tokens = model.vocabulary.tokens;
  if (tokens.empty()) return {};
  for (const models::MediaPiece& piece : models::pieces(projector, shape)) {
    const std::string_view text = piece.text;
    for (size_t start = text.find_first_of("<["); start != std::string_view::npos;) {
      const size_t end = text.find(text[start] == '<' ? '>' : ']', start);
      if (end == std::string_view::npos) break;
      const std::string_view token = text.substr(start, end + 1 - start);
      if (std::ranges::find(tokens, token) == tokens.end()) return std::string(token);
      start = text.find_first_of("<[", end);
    }
  }
  return {};
}

Result<void> check_fits(const models::Projector& projector, const std::string& path,
                        const formats::ModelFile& model) {
  const auto hidden = static_cast<uint32_t>(number_of(model, "embedding_length"));
  PUNA_TRY(models::check_fits(projector, path, hidden, model.name));
  const std::string token = lacking_token(projector, model);
  if (token.empty()) return {};
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("The encoder {} puts the token \"{}\" beside its rows, which {} does "
                  "not have: it belongs to another model.",
                  path, token, model.name));
}

}  // namespace

Result<formats::ModelFile> open_encoder_file(const OpenOptions& options) {
  PUNA_TRY(const std::string path, find_model(options));
  PUNA_TRY_CONTEXT(formats::ModelFile file,
                   base::run_until(formats::open_encoder(path, {.map = options.map}), [] {}),
                   fmt::format("While opening {}", path));
  return file;
}

Result<FoundEncoder> check_encoder(const std::string& path, const formats::ModelFile* model) {
  PUNA_TRY_CONTEXT(const formats::ModelFile file,
                   base::run_until(formats::open_encoder(path), [] {}),
                   fmt::format("While opening the encoder {}", path));
  FoundEncoder out{
      .path = path, .file_type = file_type_of(file), .n_parameters = n_parameters(file)};
  for (const formats::Tensor& tensor : file.tensors) out.bytes += tensor.bytes;
  std::optional<base::Error> refused;
  for (const Sense sense : {Sense::kPictures, Sense::kSounds}) {
    if (!models::has_encoder(file, sense)) continue;
    const Result<models::EncoderConfig> encoder = models::read_encoder(file, sense);
    Result<void> fits = encoder ? Result<void>() : std::unexpected(encoder.error());
    if (fits && model) fits = check_fits(encoder->projector, path, *model);
    if (!fits) {
      if (!refused) refused = std::move(fits.error());
      continue;
    }
    (sense == Sense::kPictures ? out.sees : out.hears) = true;
    out.kinds.push_back(encoder->projector.kind);
    out.embedding = encoder->hidden;
    out.width = encoder->projector.width;
  }
  if (out.sees || out.hears) return out;
  if (refused) return std::unexpected(*std::move(refused));
  // Says what the file is instead.
  PUNA_TRY(models::read_projector(file, Sense::kPictures));
  return out;
}

namespace {

std::optional<FoundEncoder> usable(const std::string& path, const formats::ModelFile& model) {
  if (path.empty()) return std::nullopt;
  Result<FoundEncoder> out = check_encoder(path, &model);
  if (out) return *std::move(out);
  base::log_warning("The encoder beside the model is not used: {}", out.error().text());
  return std::nullopt;
}

}  // namespace

Result<std::optional<FoundEncoder>> find_encoder(const std::string& name,
                                                 const formats::ModelFile& model,
                                                 const EncoderWish& wish) {
  if (wish.none) return std::nullopt;
  if (!wish.named.empty()) {
    PUNA_TRY(const store::Resolved named, store::resolve(wish.named));
    if (named.needs_pull()) {
      return base::fail(
          ErrorCode::kNotFound,
          fmt::format("The encoder {} is not in the store; `puna pull {}` fetches it.", named.name,
                      wish.named));
    }
    PUNA_TRY(FoundEncoder out, check_encoder(named.path, &model));
    return out;
  }
  PUNA_TRY(const store::Resolved found, store::resolve(name));
  PUNA_TRY(const std::string path, store::projector_of(found));
  return usable(path, model);
}

std::optional<FoundEncoder> encoder_beside(const store::Resolved& found,
                                           const formats::ModelFile& model) {
  const Result<std::string> path = store::projector_of(found);
  if (path) return usable(*path, model);
  base::log_warning("{}", path.error().text());
  return std::nullopt;
}

}  // namespace puna::service
