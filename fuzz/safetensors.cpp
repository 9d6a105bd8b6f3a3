// safetensors from hostile bytes: what loads is sound: every tensor lies in the file, apart from
// the others.
#include "formats/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/task.h"
#include "quant/quant.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  (void)formats::parse_safetensors_index({reinterpret_cast<const char*>(data), size});
  auto source = io::from_memory("fuzz.safetensors", bytes);
  const auto tensors = base::run_until(formats::load_safetensors(*source), [] {});
  if (!tensors) {
    PUNA_CHECK(!tensors.error().message.empty());
    return 0;
  }
  uint64_t end = 0;
  for (const formats::RawTensor& tensor : *tensors) {
    PUNA_CHECK(tensor.offset <= size && tensor.bytes <= size - tensor.offset);
    PUNA_CHECK(tensor.bytes == 0 || tensor.offset >= end);
    if (tensor.bytes > 0) end = tensor.offset + tensor.bytes;
  }
  return 0;
}
