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

// What a file is called after: the letters and digits of its stem, without its type and without
// words that any projector, or any model, may have.
std::string named_after(std::string_view stem) {
  const std::string lower = lower_case(stem);
  std::string out;
  for (size_t start = 0; start < lower.size();) {
    const size_t end = std::min(lower.find_first_of("-.", start), lower.size());
    const std::string word = lower.substr(start, end - start);
    if (word != "mmproj" && word != "model" && !is_quant(upper_case(word))) out += word;
    start = end + 1;
  }
  std::erase_if(out, [](char c) { return (c < 'a' || c > 'z') && (c < '0' || c > '9'); });
  // "mmproj_f16" has no words by "-".
  for (const std::string_view all : {"mmproj", "bf16", "f16", "f32"}) {
    if (const size_t at = out.find(all); at != std::string::npos) out.erase(at, all.size());
  }
  return out;
}

// How much the name of a projector says for a model: 0 nothing, 1 that it may be any model's.
size_t likeness(const std::string& model, const std::string& projector) {
  if (projector.empty()) return 1;
  if (model == projector) return SIZE_MAX;
  if (!model.empty() && (model.contains(projector) || projector.contains(model)))
    return 1 + std::min(model.size(), projector.size());
  return 0;
}

}  // namespace

ProjectorPick pick_projector(const GgufModels& found, std::string_view stem) {
  const std::string model = named_after(stem);
  struct Candidate {
    const GgufFile* file;
    std::string name;
    size_t likeness;
  };
  std::vector<Candidate> candidates;
  size_t most = 0;
  for (const GgufFile& file : found.projectors) {
    std::string name = named_after(std::filesystem::path(file.path).stem().string());
    const size_t here = likeness(model, name);
    const bool is_of_another =
        here == 0 && std::ranges::any_of(found.models, [&](const GgufModel& other) {
          return likeness(named_after(other.stem), name) > 1;
        });
    if (is_of_another) continue;
    most = std::max(most, here);
    candidates.push_back({&file, std::move(name), here});
  }
  std::erase_if(candidates, [&](const Candidate& each) { return each.likeness < most; });
  ProjectorPick out;
  if (candidates.empty()) return out;
  const std::string& first = candidates.front().name;
  if (std::ranges::all_of(candidates, [&](const Candidate& each) { return each.name == first; })) {
    out.taken = candidates.front().file;
    return out;
  }
  for (const Candidate& each : candidates) out.several.push_back(each.file);
  return out;
}

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
