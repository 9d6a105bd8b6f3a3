// Decodes blocks for tools/compare_decoding.py: puna_decode_blocks TYPE reads blocks from stdin and
// writes their floats to stdout. Without TYPE it lists the types.
#include <cstdio>
#include <vector>

#include "quant/quant.h"

int main(int argc, char** argv) {
  using namespace puna::quant;
  if (argc < 2) {
    for (const TypeInfo& type : types()) {
      std::printf("%.*s %u %u %u\n", static_cast<int>(type.name.size()), type.name.data(),
                  type.gguf_id, type.block_elements, type.block_bytes);
    }
    return 0;
  }
  const TypeInfo* type = find(argv[1]);
  if (!type) {
    std::fprintf(stderr, "error: %s is no type\n", argv[1]);
    return 2;
  }
  std::vector<std::byte> block(type->block_bytes);
  std::vector<float> values(type->block_elements);
  while (std::fread(block.data(), block.size(), 1, stdin) == 1) {
    type->decode(block.data(), values.data(), values.size());
    std::fwrite(values.data(), sizeof(float), values.size(), stdout);
  }
  return 0;
}
