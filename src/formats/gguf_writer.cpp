#include "formats/gguf_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/gguf_bytes.h"

namespace puna::formats {

base::Result<void> GgufWriter::begin(std::span<const GgufPair> metadata,
                                     std::vector<TensorInfo> tensors) {
  tensors_ = std::move(tensors);
  GgufBytes header;
  header.put(kGgufMagic);
  header.put(uint32_t{3});
  header.put(uint64_t{tensors_.size()});
  header.put(uint64_t{metadata.size()});
  for (const GgufPair& pair : metadata) {
    header.put_string(pair.key);
    header.append(pair.value);
  }
  uint64_t offset = 0;
  for (const TensorInfo& tensor : tensors_) {
    header.put_string(tensor.name);
    header.put(static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i-- > 0;)
      header.put(tensor.shape[i]);  // contiguous dimension first
    header.put(tensor.type_id);
    header.put(offset);
    offset += tensor.bytes + padding(tensor.bytes);
  }
  PUNA_TRY(sink_.write(header.bytes()));
  pass_empty();
  return pad(header.bytes().size());
}

base::Result<void> GgufWriter::write(std::span<const std::byte> bytes) {
  const uint64_t left = current_ < tensors_.size() ? tensors_[current_].bytes - written_ : 0;
  if (bytes.size() > left) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("{} bytes are given where tensor {} of {} has {} left.",
                                  bytes.size(), current_ + 1, tensors_.size(), left));
  }
  PUNA_TRY(sink_.write(bytes));
  written_ += bytes.size();
  if (bytes.size() < left) return {};
  PUNA_TRY(pad(written_));
  ++current_;
  written_ = 0;
  pass_empty();
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

base::Result<void> GgufWriter::pad(uint64_t position) {
  constexpr std::array<std::byte, 4096> kZeros{};
  for (uint64_t left = padding(position); left > 0;) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(left, kZeros.size()));
    PUNA_TRY(sink_.write(std::span(kZeros).first(n)));
    left -= n;
  }
  return {};
}

// Tensors without bytes are complete as they are.
void GgufWriter::pass_empty() {
  while (current_ < tensors_.size() && tensors_[current_].bytes == 0) ++current_;
}

}  // namespace puna::formats
