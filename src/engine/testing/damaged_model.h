// Tiny models with a value in a tensor replaced, for tests of values that are no numbers.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "io/byte_source.h"
#include "models/testing/tiny_model.h"

namespace puna::engine::test {

// The tiny model of a shape with `bytes` at `offset` of a tensor.
inline formats::ModelFile damaged(const fixtures::TinyShape& shape, const std::string& tensor,
                                  size_t offset, std::span<const std::byte> bytes) {
  formats::ModelFile file = fixtures::tiny_model(shape);
  const auto old = file.sources[0]->mapped();
  std::vector<std::byte> all(old.begin(), old.end());
  const formats::Tensor* found = file.find_tensor(tensor);
  std::memcpy(all.data() + found->offset + offset, bytes.data(), bytes.size());
  file.sources[0] = io::from_memory("damaged weights", std::move(all));
  return file;
}
// The same for an element of an f32 tensor.
inline formats::ModelFile damaged(const fixtures::TinyShape& shape, const std::string& tensor,
                                  size_t index, float value) {
  return damaged(shape, tensor, index * sizeof value, std::as_bytes(std::span(&value, 1)));
}

}  // namespace puna::engine::test
