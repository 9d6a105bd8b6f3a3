#include "formats/gguf_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "formats/gguf.h"

namespace puna::formats {

namespace {

constexpr uint64_t kAlignment = kGgufDefaultAlignment;
constexpr std::array<std::byte, kAlignment> kZeros{};

uint64_t padding(uint64_t position) { return (kAlignment - position % kAlignment) % kAlignment; }

// The header grows in memory: it is a few MB at most.
class Header {
 public:
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_type(GgufValueType type) { put(static_cast<uint32_t>(type)); }
  void put_string(std::string_view s) {
    put(uint64_t{s.size()});
    bytes_.append(s);
  }
  template <class Stored, class List>
  void put_array(GgufValueType type, const List& list) {
    put_type(GgufValueType::kArray);
    put_type(type);
    put(uint64_t{list.size()});
    for (const auto& item : list) put(static_cast<Stored>(item));
  }
  void put_strings(const std::vector<std::string>& list) {
    put_type(GgufValueType::kArray);
    put_type(GgufValueType::kString);
    put(uint64_t{list.size()});
    for (const std::string& s : list) put_string(s);
  }
  void append(std::string_view bytes) { bytes_.append(bytes); }
  std::string_view text() const { return bytes_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

template <class Narrow, class Wide>
bool fits(Wide value) {
  return static_cast<Wide>(static_cast<Narrow>(value)) == value;
}

bool fits_f32(double value) { return fits<float>(value) || value != value; }

template <class Narrow, class Wide>
void put_numbers(Header& out, GgufValueType narrow, GgufValueType wide,
                 const std::vector<Wide>& list) {
  if (std::all_of(list.begin(), list.end(), fits<Narrow, Wide>)) {
    out.put_array<Narrow>(narrow, list);
  } else {
    out.put_array<Wide>(wide, list);
  }
}

struct PutValue {
  Header& out;
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
      Header item;
      std::visit(PutValue{item}, list);
      out.append(item.text().substr(sizeof(GgufValueType)));  // that it is a list is said already
    }
  }
};

void put_pair(Header& out, std::string_view key, const Value& value) {
  out.put_string(key);
  const auto* bytes = std::get_if<std::vector<uint64_t>>(&value);
  if (bytes && key == "tokenizer.ggml.precompiled_charsmap") {
    out.put_array<uint8_t>(GgufValueType::kU8, *bytes);  // the one known list of bytes
  } else {
    std::visit(PutValue{out}, value);
  }
}

bool is_about_the_old_file(std::string_view key) {
  return key.starts_with("split.") || key == "general.alignment";
}

// Writes the vocabulary's big lists; the small keys are in the metadata. Returns how many pairs
// that is.
uint64_t put_vocabulary(Header& out, const tokenizer::Vocabulary& vocabulary) {
  uint64_t n = 0;
  const auto key = [&](std::string_view name) {
    out.put_string(name);
    ++n;
  };
  if (!vocabulary.tokens.empty()) {
    key("tokenizer.ggml.tokens");
    out.put_strings(vocabulary.tokens);
  }
  if (!vocabulary.scores.empty()) {
    key("tokenizer.ggml.scores");
    out.put_array<float>(GgufValueType::kF32, vocabulary.scores);
  }
  if (!vocabulary.types.empty()) {
    key("tokenizer.ggml.token_type");
    out.put_array<int32_t>(GgufValueType::kI32, vocabulary.types);
  }
  if (!vocabulary.merges.empty()) {
    key("tokenizer.ggml.merges");
    out.put_strings(vocabulary.merges);
  }
  return n;
}

}  // namespace

uint64_t tensor_bytes(const GgufWriter::TensorInfo& tensor) {
  uint64_t elements = 1;
  for (const uint64_t n : tensor.shape) elements *= n;
  return quant::row_bytes(tensor.type, elements);
}

base::Result<void> GgufWriter::begin(std::span<const std::pair<std::string, Value>> metadata,
                                     const tokenizer::Vocabulary& vocabulary,
                                     std::vector<TensorInfo> tensors) {
  tensors_ = std::move(tensors);
  Header pairs;
  uint64_t n_pairs = 0;
  for (const auto& [key, value] : metadata) {
    if (is_about_the_old_file(key)) continue;
    put_pair(pairs, key, value);
    ++n_pairs;
  }
  n_pairs += put_vocabulary(pairs, vocabulary);

  Header start;
  start.put(kGgufMagic);
  start.put(uint32_t{3});
  start.put(uint64_t{tensors_.size()});
  start.put(n_pairs);
  Header list;
  uint64_t offset = 0;
  for (const TensorInfo& tensor : tensors_) {
    list.put_string(tensor.name);
    list.put(static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i-- > 0;)
      list.put(tensor.shape[i]);  // contiguous dimension first
    list.put(quant::info(tensor.type).gguf_id);
    list.put(offset);
    const uint64_t n = tensor_bytes(tensor);
    offset += n + padding(n);
  }
  const uint64_t n = start.bytes().size() + pairs.bytes().size() + list.bytes().size();
  PUNA_TRY(sink_.write(start.bytes()));
  PUNA_TRY(sink_.write(pairs.bytes()));
  PUNA_TRY(sink_.write(list.bytes()));
  return sink_.write(std::span(kZeros).first(static_cast<size_t>(padding(n))));
}

base::Result<void> GgufWriter::write(std::span<const std::byte> bytes) {
  const uint64_t left =
      current_ < tensors_.size() ? tensor_bytes(tensors_[current_]) - written_ : 0;
  if (bytes.size() > left) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("{} bytes are given where tensor {} of {} has {} left.",
                                  bytes.size(), current_ + 1, tensors_.size(), left));
  }
  PUNA_TRY(sink_.write(bytes));
  written_ += bytes.size();
  if (bytes.size() < left) return {};
  PUNA_TRY(sink_.write(std::span(kZeros).first(static_cast<size_t>(padding(written_)))));
  ++current_;
  written_ = 0;
  return {};
}

base::Result<void> GgufWriter::finish() {
  if (current_ != tensors_.size()) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Tensor \"{}\" is not complete ({} bytes written).",
                                  tensors_[current_].name, written_));
  }
  return sink_.finish();
}

}  // namespace puna::formats
