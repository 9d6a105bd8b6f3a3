#include "engine/no_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "io/byte_source.h"
#include "quant/quant.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

struct Found {
  uint64_t index = 0;  // of the element
  float value = 0;
};

// The first element of a tensor that is no number.
Task<Result<std::optional<Found>>> find(const formats::ModelFile& file,
                                        const formats::Tensor& tensor) {
  const quant::TypeInfo& type = quant::info(tensor.type);
  const uint64_t at_once = std::max<uint64_t>(kPieceBytes / type.block_bytes, 1);
  const uint64_t n_blocks = tensor.bytes / type.block_bytes;
  std::vector<std::byte> bytes;
  std::vector<float> values;
  for (uint64_t first = 0; first < n_blocks; first += at_once) {
    const auto n = static_cast<size_t>(std::min(at_once, n_blocks - first));
    bytes.resize(n * type.block_bytes);
    values.resize(n * type.block_elements);
    PUNA_CO_TRY(co_await io::read(*file.sources[tensor.source],
                                  tensor.offset + first * type.block_bytes, bytes));
    type.decode(bytes.data(), values.data(), values.size());
    const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) continue;
    const auto within = static_cast<uint64_t>(bad - values.begin());
    co_return Found{first * type.block_elements + within, *bad};
  }
  co_return std::nullopt;
}

}  // namespace

Task<Result<void>> check_weights(const formats::ModelFile& file, const std::atomic<bool>* cancel) {
  for (const formats::Tensor& tensor : file.tensors) {
    if (tensor.unknown_type) continue;
    if (cancel && *cancel) co_return base::fail(ErrorCode::kCancelled, "Looking was interrupted.");
    PUNA_CO_TRY_CONTEXT(const std::optional<Found> found, co_await find(file, tensor),
                        fmt::format("While reading tensor \"{}\"", tensor.name));
    if (!found) continue;
    co_return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("Tensor \"{}\" of {} holds {} at row {}, column {}; the file is damaged or was "
                    "converted from weights that are.",
                    tensor.name, file.name, found->value, found->index / tensor.columns(),
                    found->index % tensor.columns()));
  }
  co_return {};
}

Task<base::Error> NoNumbers::explain(const formats::ModelFile& file, std::string what, bool widest,
                                     const std::atomic<bool>* cancel) {
  Result<void> checked;
  if (checked_) {
    checked = *checked_;
  } else {
    checked = co_await check_weights(file, cancel);
    if (checked || checked.error().code == ErrorCode::kCorrupt) checked_ = checked;
  }
  base::Error error{
      ErrorCode::kUnsupported,
      widest ? "All weights are numbers, so values left the range of f32 in the computation."
             : "All weights are numbers, so values left their range in the computation; --numerics "
               "exact and --kv-type f32 have the widest.",
      {}};
  if (!checked) error = std::move(checked.error());
  error.message = fmt::format("{}. {}", what, error.message);
  co_return error;
}

}  // namespace puna::engine
