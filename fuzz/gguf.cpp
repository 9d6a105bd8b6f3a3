// GGUF from hostile bytes: the parser over the whole input and over a prefix of it, then the
// vocabulary and the split keys.
#include "formats/gguf.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "formats/open.h"
#include "io/byte_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);

  // A prefix asks for more that the file has, or agrees with the whole.
  const auto whole = formats::parse_gguf(bytes, size);
  if (whole) PUNA_CHECK(std::holds_alternative<formats::GgufHeader>(*whole));
  const auto part = formats::parse_gguf(bytes.first(size / 2), size);
  if (part && std::holds_alternative<formats::GgufNeedMore>(*part)) {
    const uint64_t needed = std::get<formats::GgufNeedMore>(*part).prefix_bytes;
    PUNA_CHECK(needed > size / 2 && needed <= size);
  }
  if (!part) PUNA_CHECK(!whole);

  // What opens is sound: every tensor lies in the file and is as long as its shape says.
  auto file = base::run_until(formats::open_model(io::from_memory("fuzz.gguf", bytes)), [] {});
  if (!file) {
    PUNA_CHECK(!file.error().message.empty());
    return 0;
  }
  for (const formats::Tensor& tensor : file->tensors) {
    PUNA_CHECK(tensor.offset <= size && tensor.bytes <= size - tensor.offset);
    PUNA_CHECK(
        tensor.bytes ==
        (tensor.usable() ? quant::row_bytes(tensor.type, tensor.rows() * tensor.columns()) : 0));
    PUNA_CHECK(file->find_tensor(tensor.name) == &tensor);
  }
  const auto n = static_cast<int32_t>(file->vocabulary.tokens.size());
  for (const int32_t id : file->vocabulary.end_tokens) PUNA_CHECK(id >= 0 && id < n);
  return 0;
}
