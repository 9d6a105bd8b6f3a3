// Blocks of a quantized type from a file that keeps their codes and their scales in two tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "formats/raw_tensor.h"

namespace puna::formats {

// How codes (16 bytes a block) and scales lie.
enum class BlockForm : uint8_t {
  kMlcF16,   // q4f16_1: scales f16
  kMlcF32,   // q4f32_1: scales f32
  kMlcBf16,  // q4f32_1: scales stored as bf16
  kMxfp4,    // mxfp4 as Hugging Face has it: exponents u8, byte j holds elements 2j and 2j + 1
};

quant::Type type_of(BlockForm form);
uint64_t scale_bytes(BlockForm form);

// A stretch of a source, which outlives what is made of it.
struct Stretch {
  io::ByteSource* source;
  uint64_t offset;
};

// A source of n_blocks blocks as src/quant lays them out, put together as they are read.
std::unique_ptr<io::ByteSource> make_blocks(std::string name, BlockForm form, Stretch codes,
                                            Stretch scales, uint64_t n_blocks);

}  // namespace puna::formats
