// What names of GGUF files tell: their quantization, whether they belong to a split model, and
// whether they are the projector beside a model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace puna::store {

struct GgufFile {
  std::string path{};  // in its folder or repository
  uint64_t bytes = 0;
};

// One model: the parts of a split one in order, else one file.
struct GgufModel {
  std::string stem{};   // of the file, without part number and ".gguf"
  std::string quant{};  // "Q4_K_M"; the stem where the name tells none
  std::vector<GgufFile> parts{};
};

struct GgufModels {
  std::vector<GgufModel> models{};     // whole ones only
  std::vector<GgufFile> projectors{};  // f16 first, then bf16
};

// Which of the projectors beside it belongs to a model. Their names, less their types, decide: one
// that names another of the models is that one's; of several whose names are equal f16 is taken
// (exact enough, and half of f32), then bf16.
struct ProjectorPick {
  const GgufFile* taken = nullptr;         // null: there is none, or
  std::vector<const GgufFile*> several{};  // names do not tell which of these it is
};
// `stem`: of the model. What is returned points into `found`.
ProjectorPick pick_projector(const GgufModels& found, std::string_view stem);

// Sorts the GGUF files of a folder or repository; others, and importance matrices, are passed over.
GgufModels group(std::vector<GgufFile> files);

// The model whose quantization, stem or file name `tag` is, without case; for "latest" the first of
// Q4_K_M, Q8_0, Q4_0 that there is, else the first. Null when there is none.
const GgufModel* pick(const GgufModels& models, std::string_view tag);

}  // namespace puna::store
