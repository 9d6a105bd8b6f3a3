#include "formats/gguf_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "formats/gguf_bytes.h"

namespace puna::formats {

namespace {

using base::Result;
using base::Task;

template <class Narrow, class Wide>
bool fits(Wide value) {
  return static_cast<Wide>(static_cast<Narrow>(value)) == value;
}

bool fits_f32(double value) { return fits<float>(value) || value != value; }

template <class Narrow, class Wide>
void put_numbers(GgufBytes& out, GgufValueType narrow, GgufValueType wide,
                 const std::vector<Wide>& list) {
  if (std::all_of(list.begin(), list.end(), fits<Narrow, Wide>)) {
    out.put_array<Narrow>(narrow, list);
  } else {
    out.put_array<Wide>(wide, list);
  }
}

struct PutValue {
  GgufBytes& out;
  void operator()(bool v) const {
    out.put_type(GgufValueType::kBool);
    out.put(static_cast<uint8_t>(v));
  }
  void operator()(int64_t v) const {
    out.put_type(fits<int32_t>(v) ? GgufValueType::kI32 : GgufValueType::kI64);
    fits<int32_t>(v) ? out.put(static_cast<int32_t>(v)) : out.put(v);
  }
  void operator()(uint64_t v) const {
    out.put_type(fits<uint32_t>(v) ? GgufValueType::kU32 : GgufValueType::kU64);
    fits<uint32_t>(v) ? out.put(static_cast<uint32_t>(v)) : out.put(v);
  }
  void operator()(double v) const {
    out.put_type(fits_f32(v) ? GgufValueType::kF32 : GgufValueType::kF64);
    fits_f32(v) ? out.put(static_cast<float>(v)) : out.put(v);
  }
  void operator()(const std::string& v) const {
    out.put_type(GgufValueType::kString);
    out.put_string(v);
  }
  void operator()(const std::vector<bool>& v) const {
    out.put_array<uint8_t>(GgufValueType::kBool, v);
  }
  void operator()(const std::vector<int64_t>& v) const {
    put_numbers<int32_t>(out, GgufValueType::kI32, GgufValueType::kI64, v);
  }
  void operator()(const std::vector<uint64_t>& v) const {
    put_numbers<uint32_t>(out, GgufValueType::kU32, GgufValueType::kU64, v);
  }
  void operator()(const std::vector<double>& v) const {
    put_numbers<float>(out, GgufValueType::kF32, GgufValueType::kF64, v);
  }
  void operator()(const std::vector<std::string>& v) const { out.put_strings(v); }
  void operator()(const ListOfLists& v) const {
    out.put_type(GgufValueType::kArray);
    out.put_type(GgufValueType::kArray);
    out.put(uint64_t{v.lists.size()});
    for (const Value& list : v.lists) {
      GgufBytes item;
      std::visit(PutValue{item}, list);
      const std::string bytes = item.take();
      // That the item is a list is said already.
      out.append(std::string_view(bytes).substr(sizeof(GgufValueType)));
    }
  }
};

GgufPair encode(std::string_view key, const Value& value) {
  GgufBytes out;
  const auto* bytes = std::get_if<std::vector<uint64_t>>(&value);
  if (bytes && key == "tokenizer.ggml.precompiled_charsmap") {
    out.put_array<uint8_t>(GgufValueType::kU8, *bytes);  // the one known list of bytes
  } else {
    std::visit(PutValue{out}, value);
  }
  return {std::string(key), out.take()};
}

// The vocabulary's big lists; its small keys are in the metadata.
void encode_lists(const tokenizer::Vocabulary& vocabulary, std::vector<GgufPair>& pairs) {
  const auto add = [&](std::string_view key, auto put) {
    GgufBytes out;
    put(out);
    pairs.push_back({std::string(key), out.take()});
  };
  if (!vocabulary.tokens.empty()) {
    add("tokenizer.ggml.tokens", [&](GgufBytes& out) { out.put_strings(vocabulary.tokens); });
  }
  if (!vocabulary.scores.empty()) {
    add("tokenizer.ggml.scores",
        [&](GgufBytes& out) { out.put_array<float>(GgufValueType::kF32, vocabulary.scores); });
  }
  if (!vocabulary.types.empty()) {
    add("tokenizer.ggml.token_type",
        [&](GgufBytes& out) { out.put_array<int32_t>(GgufValueType::kI32, vocabulary.types); });
  }
  if (!vocabulary.merges.empty()) {
    add("tokenizer.ggml.merges", [&](GgufBytes& out) { out.put_strings(vocabulary.merges); });
  }
}

// A pair's key and value, from its bytes in a file.
Result<GgufPair> take_apart(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() >= sizeof(length)) {
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes.remove_prefix(sizeof(length));
    if (length <= bytes.size()) {
      const auto n = static_cast<size_t>(length);
      return GgufPair{std::string(bytes.substr(0, n)), std::string(bytes.substr(n))};
    }
  }
  return base::fail(base::ErrorCode::kCorrupt, "The metadata changed while it was read.");
}

}  // namespace

Task<Result<std::vector<GgufPair>>> gguf_pairs(const ModelFile& model) {
  std::vector<GgufPair> pairs;
  if (model.stored_metadata.empty()) {
    for (const auto& [key, value] : model.metadata) pairs.push_back(encode(key, value));
    encode_lists(model.vocabulary, pairs);
  }
  std::string bytes;
  for (const Extent& extent : model.stored_metadata) {
    bytes.resize(static_cast<size_t>(extent.bytes));
    auto reading =
        io::read(*model.sources.front(), extent.offset, std::as_writable_bytes(std::span(bytes)));
    PUNA_CO_TRY_CONTEXT(co_await std::move(reading), "While reading the metadata");
    PUNA_CO_TRY(GgufPair pair, take_apart(bytes));
    pairs.push_back(std::move(pair));
  }
  std::erase_if(pairs, [](const GgufPair& pair) { return pair.key.starts_with("split."); });
  co_return std::move(pairs);
}

void set_pair(std::vector<GgufPair>& pairs, std::string_view key, uint32_t value) {
  GgufBytes out;
  out.put_type(GgufValueType::kU32);
  out.put(value);
  const auto it = std::ranges::find(pairs, key, &GgufPair::key);
  if (it != pairs.end()) {
    it->value = out.take();
  } else {
    pairs.push_back({std::string(key), out.take()});
  }
}

}  // namespace puna::formats
