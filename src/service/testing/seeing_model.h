// A scripted model that sees: beside it LLaVA's tiny encoder of tests/encoders, whose last matrix
// is made as wide as the model. A picture is 25 tokens.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/open.h"
#include "io/byte_source.h"
#include "service/media_file.h"
#include "service/senses.h"
#include "service/testing/scripted_model.h"

namespace puna::service::test {

constexpr uint32_t kPictureTokens = 25;
constexpr const char* kPlainTemplate = "{% for m in messages %}{{ m.content }}{% endfor %}<|go|>";

// Puts a tensor of zeros but for a diagonal of ones in the place of another.
inline void replace(formats::ModelFile& file, const std::string& name,
                    std::vector<uint64_t> shape) {
  uint64_t n = 1;
  for (const uint64_t side : shape) n *= side;
  const uint64_t columns = shape.back();
  std::vector<float> values(n);
  for (uint64_t i = 0; i < n; ++i) values[i] = i / columns % columns == i % columns ? 1.0f : 0.0f;
  std::vector<std::byte> bytes(n * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  for (formats::Tensor& tensor : file.tensors) {
    if (tensor.name != name) continue;
    tensor.shape = std::move(shape);
    tensor.source = static_cast<uint32_t>(file.sources.size());
    tensor.offset = 0;
    tensor.bytes = bytes.size();
    break;
  }
  file.sources.push_back(io::from_memory(name, std::move(bytes)));
}

inline formats::ModelFile wide_encoder() {
  auto opened = base::run_until(
      formats::open_model(std::string("tests/encoders/llava.gguf"), formats::OpenOptions{}), [] {});
  REQUIRE_MESSAGE(opened.has_value(), opened.error().text());
  formats::ModelFile file = *std::move(opened);
  replace(file, "mm.2.weight", {kWide, 24});
  replace(file, "mm.2.bias", {kWide});
  for (auto& [key, value] : file.metadata) {
    if (key == "clip.vision.projection_dim") value = uint64_t{kWide};
  }
  file.index();
  return file;
}

inline std::shared_ptr<Senses> senses(SensesOptions options = {}) {
  options.n_threads = 1;
  const auto open = []() -> base::Task<base::Result<formats::ModelFile>> {
    co_return wide_encoder();
  };
  auto out = base::run_until(Senses::load(open, {}, std::move(options)), [] {});
  REQUIRE_MESSAGE(out.has_value(), out.error().text());
  return *std::move(out);
}

inline LoadedModel seeing_model(uint64_t context = 256, SensesOptions options = {}) {
  formats::ModelFile file = scripted(kPlainTemplate);
  for (auto& [key, value] : file.metadata) {
    if (key == "llama.context_length") value = context;
  }
  engine::EngineOptions engine;
  engine.media = true;
  engine.n_sequences = 2;
  LoadedModel out = loaded_cpu(std::move(file), std::move(engine));
  out.senses = senses(std::move(options));
  return out;
}

inline std::shared_ptr<const MediaFile> media_file(const std::string& name,
                                                   models::Sense sense = models::Sense::kPictures) {
  auto file = read_media_file("tests/fixtures/media/" + name, sense);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return std::make_shared<const MediaFile>(*std::move(file));
}

}  // namespace puna::service::test
