#include "formats/quantize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <optional>
#include <string_view>

#include "formats/gguf_pairs.h"
#include "formats/gguf_writer.h"
#include "quant/q4f16_1.h"

namespace puna::formats {

namespace {

using base::ErrorCode;
using base::Result;
using base::Task;

// Every block length divides the unit, so a piece of whole units is whole blocks of both types.
constexpr size_t kUnitElements = 256;
constexpr uint64_t kPieceElements = uint64_t{1} << 20;
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

constexpr uint32_t kInfinityBits = 0x7f800000;
// Of general.quantization_version: that of the K types' layout, as ggml counts.
constexpr uint32_t kQuantizationVersion = 2;

// Without its sign a float's bits are ordered as its size is, infinity and nan last.
uint32_t size_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffu; }

// Bits of the smallest size that is not finite any more in `type`.
uint32_t too_large_bits(quant::Type type) {
  switch (type) {
    case quant::Type::kF16:
      return 0x477ff000;  // 65520, half a step above the largest
    case quant::Type::kBf16:
      return 0x7f7f8000;
    default:
      return kInfinityBits;
  }
}

// A bound of what goes into a product or comes out of it may bound nothing (Gemma 4's encoders).
bool may_be_infinite(const Tensor& tensor) {
  const std::string_view name = tensor.name;
  return tensor.rows() * tensor.columns() == 1 &&
         std::ranges::any_of(std::array{".input_min", ".input_max", ".output_min", ".output_max"},
                             [&](const char* end) { return name.ends_with(end); });
}

// One piece of a tensor on its way from one type to another.
struct Piece {
  std::vector<std::byte> in, out;
  std::vector<float> values;
  size_t bad =
      0;  // the first value that the new type does not hold; their number when there is none

  void convert(const quant::TypeInfo& from, const quant::TypeInfo& to, size_t n, bool infinities,
               base::ThreadPool& pool) {
    values.resize(n);
    const bool copied = from.type == to.type;
    if (!copied) out.resize(static_cast<size_t>(quant::row_bytes(to.type, n)));
    const uint32_t limit = infinities ? kInfinityBits + 1
                           : copied   ? kInfinityBits
                                      : too_large_bits(to.type);
    std::atomic<size_t> first_bad = n;
    const auto units = static_cast<uint32_t>((n + kUnitElements - 1) / kUnitElements);
    pool.run(units, /*grain=*/16, [&](uint32_t begin, uint32_t end) {
      const size_t first = size_t{begin} * kUnitElements;
      const size_t count = std::min(n, size_t{end} * kUnitElements) - first;
      const std::byte* source = in.data() + quant::row_bytes(from.type, first);
      const std::span<float> part = std::span(values).subspan(first, count);
      from.decode(source, part.data(), count);
      if (!check(part, limit, first, first_bad) || copied) return;
      std::byte* target = out.data() + quant::row_bytes(to.type, first);
      if (from.type == quant::Type::kQ4F16_1 && to.type == quant::Type::kQ4_0) {
        quant::q4_0_of_q4f16_1(source, target, count);
      } else {
        to.encode(part.data(), target, count);
      }
    });
    bad = first_bad;
  }

 private:
  // Whether all sizes are below the limit; the place of the first that is not is kept.
  static bool check(std::span<const float> part, uint32_t limit, size_t first,
                    std::atomic<size_t>& first_bad) {
    uint32_t largest = 0;
    for (const float value : part) largest = std::max(largest, size_bits(value));
    if (largest < limit) return true;
    const auto it =
        std::ranges::find_if(part, [&](float value) { return size_bits(value) >= limit; });
    const size_t place = first + static_cast<size_t>(it - part.begin());
    size_t known = first_bad;
    while (place < known && !first_bad.compare_exchange_weak(known, place)) {
    }
    return false;
  }
};

// The place of an element as NumPy counts it: [row, column].
std::vector<uint64_t> place_of(uint64_t element, std::span<const uint64_t> shape) {
  std::vector<uint64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    place[i] = element % shape[i];
    element /= shape[i];
  }
  return place;
}

std::unexpected<base::Error> bad_value(const Tensor& tensor, uint64_t element, float value,
                                       quant::Type to) {
  const std::string what =
      fmt::format("Tensor \"{}\" is {} at [{}] of [{}], counted from 0", tensor.name, value,
                  fmt::join(place_of(element, tensor.shape), ", "), fmt::join(tensor.shape, ", "));
  if (size_bits(value) < kInfinityBits) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("{}, which is too large for {}; write it as f32.", what, quant::info(to).name));
  }
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("{}: no model computes with weights that are not finite. The file "
                                "is damaged, or was so from the beginning.",
                                what));
}

Result<void> check_types(const Tensor& tensor, const TensorPlan& plan) {
  if (plan.opaque) return {};
  const quant::TypeInfo& to = quant::info(plan.type);
  if (plan.type != tensor.type && !to.encode) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("Writing the type {} is not supported.", to.name));
  }
  if (to.gguf_id == quant::kNoGgufId) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("Tensor \"{}\" has the type {}, which GGUF has not; give a type to write.",
                    tensor.name, to.name));
  }
  return {};
}

// Metadata of the new file.
Task<Result<std::vector<GgufPair>>> new_metadata(const ModelFile& model,
                                                 const QuantizeOptions& options) {
  auto reading = gguf_pairs(model);
  PUNA_CO_TRY(auto pairs, co_await std::move(reading));
  const quant::Mix* mix = options.mix;
  const bool is_mlc = std::ranges::any_of(
      model.tensors, [](const Tensor& t) { return t.type == quant::Type::kQ4F16_1; });
  if (!mix && is_mlc) mix = quant::find_mix("q4_0");
  if (mix) set_pair(pairs, "general.file_type", mix->gguf_file_type);
  set_pair(pairs, "general.quantization_version", kQuantizationVersion);
  co_return std::move(pairs);
}

// Writes one model.
class Quantizer {
 public:
  Quantizer(ModelFile& model, io::ByteSink& out, uint64_t alignment, base::ThreadPool& pool,
            OnQuantizeProgress on_progress)
      : model_(model), writer_(out, alignment), pool_(pool), on_progress_(std::move(on_progress)) {}

  Task<Result<void>> run(QuantizeOptions options) {
    const std::vector<TensorPlan> plans = plan_tensors(model_, options);
    std::vector<GgufWriter::TensorInfo> infos;
    for (size_t i = 0; i < plans.size(); ++i) {
      const Tensor& tensor = model_.tensors[i];
      PUNA_CO_TRY(check_types(tensor, plans[i]));
      infos.push_back({tensor.name,
                       tensor.unknown_type.value_or(quant::info(plans[i].type).gguf_id),
                       tensor.shape, plans[i].bytes});
      progress_.total_bytes += plans[i].opaque ? plans[i].bytes : tensor.bytes;
    }
    auto describing = new_metadata(model_, options);
    PUNA_CO_TRY(const auto metadata, co_await std::move(describing));
    PUNA_CO_TRY(writer_.begin(metadata, std::move(infos)));
    for (size_t i = 0; i < plans.size(); ++i) {
      progress_.tensor = model_.tensors[i].name;
      auto writing = plans[i].opaque ? copy(model_.tensors[i], plans[i].bytes)
                                     : convert(model_.tensors[i], plans[i].type);
      PUNA_CO_TRY(co_await std::move(writing));
    }
    if (on_progress_) on_progress_(progress_);
    co_return writer_.finish();
  }

 private:
  Task<Result<void>> convert(const Tensor& tensor, quant::Type type) {
    const quant::TypeInfo& from = quant::info(tensor.type);
    const quant::TypeInfo& to = quant::info(type);
    const uint64_t n_elements = tensor.bytes / from.block_bytes * from.block_elements;
    for (uint64_t done = 0; done < n_elements; done += kPieceElements) {
      const auto n = static_cast<size_t>(std::min(kPieceElements, n_elements - done));
      auto reading =
          read(tensor, quant::row_bytes(from.type, done), quant::row_bytes(from.type, n));
      PUNA_CO_TRY(co_await std::move(reading));
      piece_.convert(from, to, n, may_be_infinite(tensor), pool_);
      if (piece_.bad < n)
        co_return bad_value(tensor, done + piece_.bad, piece_.values[piece_.bad], type);
      PUNA_CO_TRY(writer_.write(from.type == to.type ? piece_.in : piece_.out));
    }
    co_return {};
  }

  Task<Result<void>> copy(const Tensor& tensor, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += kPieceBytes) {
      auto reading = read(tensor, done, std::min(kPieceBytes, bytes - done));
      PUNA_CO_TRY(co_await std::move(reading));
      PUNA_CO_TRY(writer_.write(piece_.in));
    }
    co_return {};
  }

  // Reads the next bytes of a tensor into the piece, and tells of it.
  Task<Result<void>> read(const Tensor& tensor, uint64_t offset, uint64_t bytes) {
    if (on_progress_ && !on_progress_(progress_))
      co_return base::fail(ErrorCode::kCancelled, "Quantizing is stopped.");
    piece_.in.resize(static_cast<size_t>(bytes));
    auto reading = io::read(*model_.sources[tensor.source], tensor.offset + offset, piece_.in);
    PUNA_CO_TRY_CONTEXT(co_await std::move(reading),
                        fmt::format("While reading tensor \"{}\"", tensor.name));
    progress_.done_bytes += bytes;
    co_return {};
  }

  ModelFile& model_;
  GgufWriter writer_;
  base::ThreadPool& pool_;
  OnQuantizeProgress on_progress_;
  QuantizeProgress progress_{};
  Piece piece_;
};

}  // namespace

Task<Result<void>> quantize(ModelFile& model, QuantizeOptions options, io::ByteSink& out,
                            base::ThreadPool& pool, OnQuantizeProgress on_progress) {
  // The key is copied with the others, so the file is laid out as it says.
  PUNA_CO_TRY(const uint64_t alignment, model.get_uint("general.alignment", kGgufDefaultAlignment));
  Quantizer quantizer(model, out, alignment, pool, std::move(on_progress));
  auto running = quantizer.run(options);
  co_return co_await std::move(running);
}

}  // namespace puna::formats
