#include "store/gguf_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "formats/gguf_split.h"
#include "store/name.h"

namespace puna::store {
namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::array<std::string_view, 3> kPreferred = {"Q4_K_M", "Q8_0", "Q4_0"};

std::string upper_case(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// "Q4_K_M", "IQ2_XXS", "BF16", "MXFP4_MOE": letters that name a kind of weights, then a digit.
bool is_quant(std::string_view word) {
  for (const std::string_view kind : {"IQ", "TQ", "Q", "BF", "F", "MXFP", "NVFP"}) {
    if (word.starts_with(kind) && word.size() > kind.size() && word[kind.size()] >= '0' &&
        word[kind.size()] <= '9')
      return true;
  }
  return false;
}

// The last word of the stem that names a type, with "UD-" where that stands before it.
std::string quant_of(const std::string& stem) {
  const std::string upper = upper_case(stem);
  for (size_t end = upper.size(); end > 0;) {
    const size_t at = upper.find_last_of("-.", end - 1);
    const size_t start = at == std::string::npos ? 0 : at + 1;
    const std::string_view word = std::string_view(upper).substr(start, end - start);
    if (is_quant(word)) {
      const bool dynamic = start >= 3 && std::string_view(upper).substr(0, start).ends_with("UD-");
      return std::string(dynamic ? "UD-" : "") + std::string(word);
    }
    end = at == std::string::npos ? 0 : at;
  }
  return as_name_part(stem);
}

}  // namespace

GgufModels group(std::vector<GgufFile> files) {
  GgufModels found;
  std::map<std::string, std::vector<GgufFile>> splits;  // by prefix and count
  std::ranges::sort(files, {}, &GgufFile::path);
  for (GgufFile& file : files) {
    const std::filesystem::path path(file.path);
    const std::string name = lower_case(path.filename().string());
    if (!name.ends_with(kSuffix) || name.contains("imatrix")) continue;
    if (name.contains("mmproj")) {
      found.projectors.push_back(std::move(file));
      continue;
    }
    if (const auto split = formats::parse_split_name(file.path)) {
      auto& parts = splits[split->prefix + '\0' + std::to_string(split->count)];
      if (split->number != parts.size() + 1) continue;  // one before it is missing
      parts.push_back(std::move(file));
      if (parts.size() < split->count) continue;
      std::string stem = std::filesystem::path(split->prefix).filename().string();
      found.models.push_back({.stem = stem, .quant = quant_of(stem), .parts = std::move(parts)});
      continue;
    }
    std::string stem = path.stem().string();
    std::string quant = quant_of(stem);
    found.models.push_back(
        {.stem = std::move(stem), .quant = std::move(quant), .parts = {std::move(file)}});
  }
  std::ranges::stable_sort(found.projectors, {}, [](const GgufFile& file) {
    const std::string name = lower_case(file.path);  // f16 is exact enough, and half of f32
    return name.contains("bf16") ? 1 : name.contains("f16") ? 0 : 2;
  });
  return found;
}

const GgufModel* pick(const GgufModels& models, std::string_view tag) {
  const auto with = [&](std::string_view wanted) -> const GgufModel* {
    const std::string folded = lower_case(wanted);
    for (const GgufModel& model : models.models) {
      const std::string file = std::filesystem::path(model.parts[0].path).filename().string();
      if (lower_case(model.quant) == folded || lower_case(model.stem) == folded ||
          lower_case(file) == folded)
        return &model;
    }
    return nullptr;
  };
  if (const GgufModel* found = with(tag)) return found;
  if (lower_case(tag) != kDefaultTag || models.models.empty()) return nullptr;
  for (const std::string_view preferred : kPreferred) {
    if (const GgufModel* found = with(preferred)) return found;
  }
  return models.models.data();
}

}  // namespace puna::store
