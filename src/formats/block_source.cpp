#include "formats/block_source.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/task.h"
#include "io/range.h"
#include "quant/mxfp4.h"
#include "quant/q4f16_1.h"

namespace puna::formats {

namespace {

using base::Result;
using base::Task;

constexpr uint64_t kCodeBytes = 16;

// Nibbles of neighbours become nibbles of elements half a block apart.
void halves_of_pairs(const uint8_t* pairs, uint8_t* halves) {
  const auto code = [&](int element) { return pairs[element / 2] >> (element % 2 * 4) & 15; };
  for (int j = 0; j < 16; ++j) halves[j] = static_cast<uint8_t>(code(j) | code(j + 16) << 4);
}

void join(BlockForm form, const std::byte* codes, const std::byte* scale, std::byte* out) {
  uint8_t pairs[kCodeBytes], halves[kCodeBytes];
  switch (form) {
    case BlockForm::kMlcF16:
      std::memcpy(out, scale, 2);
      std::memcpy(out + 2, codes, kCodeBytes);
      return;
    case BlockForm::kMlcF32:
      std::memcpy(out, scale, 4);
      std::memcpy(out + 4, codes, kCodeBytes);
      return;
    case BlockForm::kMlcBf16:
      std::memset(out, 0, 2);
      std::memcpy(out + 2, scale, 2);  // the upper half of an f32
      std::memcpy(out + 4, codes, kCodeBytes);
      return;
    case BlockForm::kMxfp4:
      std::memcpy(pairs, codes, kCodeBytes);
      halves_of_pairs(pairs, halves);
      std::memcpy(out, scale, 1);
      std::memcpy(out + 1, halves, kCodeBytes);
      return;
  }
}

class BlockSource final : public io::ByteSource {
 public:
  BlockSource(std::string name, BlockForm form, Stretch codes, Stretch scales, uint64_t n_blocks)
      : name_(std::move(name)),
        form_(form),
        codes_(codes),
        scales_(scales),
        block_bytes_(quant::info(type_of(form)).block_bytes),
        n_blocks_(n_blocks) {}

  uint64_t size() const override { return n_blocks_ * block_bytes_; }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, std::span<std::byte> out, io::ReadDone done) override {
    base::deliver(read_range(offset, out), std::move(done));
  }

 private:
  static constexpr uint64_t kBlocksAtOnce = uint64_t{1} << 15;

  Task<Result<void>> read_range(uint64_t offset, std::span<std::byte> out) {
    PUNA_CO_TRY(io::check_range(*this, offset, out.size()));
    std::vector<std::byte> codes, scales;
    std::vector<std::byte> blocks;
    while (!out.empty()) {
      const uint64_t first = offset / block_bytes_, cut = offset % block_bytes_;
      const uint64_t wanted = (cut + out.size() + block_bytes_ - 1) / block_bytes_;
      const auto n = static_cast<size_t>(std::min(wanted, kBlocksAtOnce));
      const uint64_t scale = scale_bytes(form_);
      codes.resize(n * kCodeBytes);
      scales.resize(static_cast<size_t>(n * scale));
      blocks.resize(static_cast<size_t>(n * block_bytes_));
      auto first_read = io::read(*codes_.source, codes_.offset + first * kCodeBytes, codes);
      PUNA_CO_TRY(co_await std::move(first_read));
      auto second_read = io::read(*scales_.source, scales_.offset + first * scale, scales);
      PUNA_CO_TRY(co_await std::move(second_read));
      for (size_t i = 0; i < n; ++i) {
        join(form_, codes.data() + i * kCodeBytes, scales.data() + i * scale,
             blocks.data() + i * block_bytes_);
      }
      const auto part = static_cast<size_t>(std::min<uint64_t>(out.size(), blocks.size() - cut));
      std::memcpy(out.data(), blocks.data() + cut, part);
      out = out.subspan(part);
      offset += part;
    }
    co_return {};
  }

  std::string name_;
  BlockForm form_;
  Stretch codes_, scales_;
  uint64_t block_bytes_;
  uint64_t n_blocks_;
};

}  // namespace

quant::Type type_of(BlockForm form) {
  switch (form) {
    case BlockForm::kMlcF16:
      return quant::Type::kQ4F16_1;
    case BlockForm::kMlcF32:
    case BlockForm::kMlcBf16:
      return quant::Type::kQ4F32_1;
    case BlockForm::kMxfp4:
      return quant::Type::kMXFP4;
  }
  return quant::Type::kF32;
}

uint64_t scale_bytes(BlockForm form) {
  constexpr uint64_t kBytes[] = {2, 4, 2, 1};
  return kBytes[static_cast<size_t>(form)];
}

std::unique_ptr<io::ByteSource> make_blocks(std::string name, BlockForm form, Stretch codes,
                                            Stretch scales, uint64_t n_blocks) {
  return std::make_unique<BlockSource>(std::move(name), form, codes, scales, n_blocks);
}

}  // namespace puna::formats
