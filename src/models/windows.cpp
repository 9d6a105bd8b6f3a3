#include "models/windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::models {

using base::ErrorCode;
using base::Result;

namespace {

// The items of a list of truth values or integers, of which every one but 0 stands for true.
Result<std::vector<bool>> read_flags(const std::string& key, const formats::Value& value) {
  if (std::holds_alternative<std::vector<bool>>(value)) return formats::as_bools(key, value);
  PUNA_TRY(const std::vector<int64_t> numbers, formats::as_ints(key, value));
  std::vector<bool> flags;
  for (const int64_t v : numbers) flags.push_back(v != 0);
  return flags;
}

}  // namespace

Result<std::vector<bool>> local_layers(const formats::ModelFile& file, const Config& c,
                                       const UsualWindows& usual) {
  const std::string key = c.architecture + ".attention.sliding_window_pattern";
  const formats::Value* value = file.find(key);
  if (value && formats::is_list(*value)) {
    PUNA_TRY(std::vector<bool> flags, read_flags(key, *value));
    return of_layers(key, std::move(flags), c);
  }
  if (!value && !usual.period) return std::unexpected(file.get_uint(key).error());
  PUNA_TRY(const uint64_t period, file.get_uint(key, usual.period.value_or(0)));
  std::vector<bool> local(c.n_layers);
  for (uint32_t l = 0; l < c.n_layers; ++l)
    local[l] = period == 0 || (l + (usual.first ? 0 : 1)) % period != 0;
  return local;
}

Result<std::vector<uint32_t>> sliding_windows(const formats::ModelFile& file, const Config& c,
                                              const UsualWindows& usual) {
  const std::string key = c.architecture + ".attention.sliding_window";
  std::vector<uint64_t> tokens(c.n_layers, usual.tokens);
  if (const formats::Value* value = file.find(key)) {
    PUNA_TRY(tokens, formats::as_uints(key, *value));
    PUNA_TRY(tokens, of_layers(key, std::move(tokens), c));
  }
  const uint64_t most = std::ranges::max(tokens);
  if (most > UINT32_MAX) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is {}, but up to {} is expected.", key, most, UINT32_MAX));
  }
  std::vector<uint32_t> windows(tokens.begin(), tokens.end());
  if (most == 0) return windows;
  PUNA_TRY(const std::vector<bool> local, local_layers(file, c, usual));
  for (uint32_t l = 0; l < c.n_layers; ++l) windows[l] = local[l] ? windows[l] : 0;
  return windows;
}

Result<std::vector<uint32_t>> windows_around(const formats::ModelFile& file, const Config& c,
                                             const UsualWindows& usual) {
  if (c.causal) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"{}.attention.causal\" is true, which is not supported "
                                  "for this architecture.",
                                  c.architecture));
  }
  PUNA_TRY(std::vector<uint32_t> windows, sliding_windows(file, c, usual));
  for (uint32_t& window : windows) window = window > 0 ? window / 2 + 1 : 0;
  return windows;
}

}  // namespace puna::models
