// Builds GGUF files for tests, good ones by default; every field can be set to something wrong.
// Independent of gguf_writer.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "formats/gguf.h"
#include "formats/open.h"

namespace puna::formats {

class ByteString {
 public:
  template <class T>
  ByteString& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  ByteString& type(GgufValueType type) { return put(static_cast<uint32_t>(type)); }
  ByteString& text(std::string_view s) {
    put(uint64_t{s.size()});
    bytes_.append(s);
    return *this;
  }
  ByteString& raw(std::string_view s) {
    bytes_.append(s);
    return *this;
  }
  void pad_to(uint64_t alignment) {
    bytes_.append((alignment - bytes_.size() % alignment) % alignment, '\0');
  }
  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

class GgufBuilder {
 public:
  uint32_t magic = kGgufMagic;
  uint32_t version = 3;
  uint64_t alignment = kGgufDefaultAlignment;  // of the data; does not write general.alignment
  int64_t extra_tensors = 0, extra_pairs = 0;  // added to the counts

  // A value given as its raw bytes.
  GgufBuilder& pair(std::string_view key, GgufValueType type, const ByteString& value) {
    pairs_.text(key).type(type).raw(value.str());
    ++n_pairs_;
    return *this;
  }
  template <class T>
  GgufBuilder& number(std::string_view key, GgufValueType type, T value) {
    return pair(key, type, ByteString().put(value));
  }
  GgufBuilder& u32(std::string_view key, uint32_t value) {
    return number(key, GgufValueType::kU32, value);
  }
  GgufBuilder& boolean(std::string_view key, bool value) {
    return number(key, GgufValueType::kBool, uint8_t{value});
  }
  GgufBuilder& text(std::string_view key, std::string_view value) {
    return pair(key, GgufValueType::kString, ByteString().text(value));
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    ByteString list;
    list.type(GgufValueType::kString).put(uint64_t{values.size()});
    for (const auto& value : values) list.text(value);
    return pair(key, GgufValueType::kArray, list);
  }
  template <class T>
  GgufBuilder& numbers(std::string_view key, GgufValueType type, const std::vector<T>& values) {
    ByteString list;
    list.type(type).put(uint64_t{values.size()});
    for (const T value : values) list.put(value);
    return pair(key, GgufValueType::kArray, list);
  }

  // Dimensions as the file has them, contiguous first. Data follows the tensors before it unless an
  // offset is given.
  GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& dimensions,
                      uint32_t type_id, std::string_view data) {
    return tensor_at(name, dimensions, type_id, data_.str().size(), data);
  }
  GgufBuilder& tensor_at(std::string_view name, const std::vector<uint64_t>& dimensions,
                         uint32_t type_id, uint64_t offset, std::string_view data) {
    list_.text(name).put(static_cast<uint32_t>(dimensions.size()));
    for (const uint64_t n : dimensions) list_.put(n);
    list_.put(type_id).put(offset);
    data_.raw(data);
    data_.pad_to(alignment);
    ++n_tensors_;
    return *this;
  }
  GgufBuilder& f32(std::string_view name, const std::vector<uint64_t>& dimensions) {
    uint64_t n = 4;
    for (const uint64_t d : dimensions) n *= d;
    return tensor(name, dimensions, 0, std::string(n, '\x01'));
  }

  std::string build() const {
    ByteString file;
    file.put(magic)
        .put(version)
        .put(n_tensors_ + static_cast<uint64_t>(extra_tensors))
        .put(n_pairs_ + static_cast<uint64_t>(extra_pairs));
    file.raw(pairs_.str()).raw(list_.str());
    file.pad_to(alignment);
    return file.raw(data_.str()).str();
  }

 private:
  ByteString pairs_, list_, data_;
  uint64_t n_pairs_ = 0, n_tensors_ = 0;
};

// A small file with a bit of everything.
inline GgufBuilder tiny_gguf() {
  GgufBuilder file;
  file.text("general.architecture", "llama").u32("llama.block_count", 1).boolean("flag", true);
  file.number("scale", GgufValueType::kF32, 0.5f)
      .numbers<int16_t>("list", GgufValueType::kI16, {-1, 2, 3});
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  file.texts("tokenizer.ggml.tokens", {"<|endoftext|>", "a", "b", "ab"})
      .texts("tokenizer.ggml.merges", {"a b"});
  file.numbers<int32_t>("tokenizer.ggml.token_type", GgufValueType::kI32, {3, 1, 1, 1});
  file.u32("tokenizer.ggml.bos_token_id", 0).u32("tokenizer.ggml.eos_token_id", 0);
  file.f32("token_embd.weight", {32, 4}).f32("output_norm.weight", {32});
  file.tensor("blk.0.attn_q.weight", {32, 2}, 2, std::string(36, '\x22'));
  return file;
}

inline std::span<const std::byte> as_byte_span(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

inline std::unique_ptr<io::ByteSource> source_of(std::string_view bytes) {
  return io::from_memory("test.gguf", as_byte_span(bytes));
}

inline base::Result<ModelFile> open_now(std::unique_ptr<io::ByteSource> source) {
  return base::run_until(open_model(std::move(source)), [] {});
}
// `bytes` outlives the file.
inline base::Result<ModelFile> open_now(std::string_view bytes) {
  return open_now(source_of(bytes));
}

// The error's one line, or "" when it opens.
inline std::string open_error(std::string_view bytes) {
  const auto file = open_now(bytes);
  return file ? "" : file.error().text();
}

}  // namespace puna::formats
