#include "gpu/devices.h"

#include <fmt/format.h>

#include <charconv>

namespace puna::gpu {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::string_view kIndexed = "gpu:";

bool is_real(const native::Adapter& adapter) { return adapter.info.type != AdapterType::kSoftware; }

std::string_view kind(AdapterType type) {
  switch (type) {
    case AdapterType::kDiscrete:
      return "discrete GPU";
    case AdapterType::kIntegrated:
      return "integrated GPU";
    case AdapterType::kSoftware:
      return "software adapter";
    case AdapterType::kUnknown:
      return "GPU of unknown type";
  }
  return "GPU";
}

std::optional<size_t> first_real(std::span<const native::Adapter> adapters) {
  for (size_t i = 0; i < adapters.size(); ++i) {
    if (is_real(adapters[i])) return i;
  }
  return std::nullopt;
}

// The N of "gpu:N"; none when it is no number.
std::optional<size_t> index_of(std::string_view wanted) {
  const std::string_view digits = wanted.substr(kIndexed.size());
  size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return index;
}

base::Result<Choice> choose_index(std::string_view wanted, size_t index,
                                  std::span<const native::Adapter> adapters) {
  if (index >= adapters.size()) {
    return fail(ErrorCode::kNotFound,
                adapters.empty()
                    ? fmt::format("There is no GPU for --device {}; use --device cpu.", wanted)
                    : fmt::format("There is no GPU {}; `puna devices` lists 0 to {}.", index,
                                  adapters.size() - 1));
  }
  return Choice{index, "asked for by index", {}};
}

}  // namespace

base::Result<void> check_device_name(std::string_view wanted) {
  if (wanted == "auto" || wanted == "gpu" || wanted == "cpu") return {};
  if (!wanted.starts_with(kIndexed)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Device \"{}\" is none of auto, gpu, gpu:N, cpu.", wanted));
  }
  if (!index_of(wanted)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Device \"{}\" is not gpu:N with a number N.", wanted));
  }
  return {};
}

base::Result<Choice> choose_device(std::string_view wanted,
                                   std::span<const native::Adapter> adapters) {
  PUNA_TRY(check_device_name(wanted));
  if (wanted == "cpu") return Choice{std::nullopt, "asked for", {}};
  if (wanted.starts_with(kIndexed)) return choose_index(wanted, *index_of(wanted), adapters);
  if (const auto real = first_real(adapters)) {
    return Choice{real, fmt::format("the first {}", kind(adapters[*real].info.type)), {}};
  }
  if (wanted == "auto") {
    return Choice{std::nullopt,
                  adapters.empty() ? "there is no GPU" : "there is no GPU, only a software adapter",
                  {}};
  }
  if (adapters.empty()) {
    return fail(ErrorCode::kNotFound,
                "There is no GPU that WebGPU can use; check the driver, or use --device cpu.");
  }
  return Choice{0, "there is no real GPU",
                fmt::format("{} computes on the CPU: it is for tests and slower than --device cpu.",
                            adapters[0].info.name)};
}

std::vector<std::string> explain_auto(std::span<const native::Adapter> adapters) {
  const auto chosen = first_real(adapters);
  std::vector<std::string> out;
  for (size_t i = 0; i < adapters.size(); ++i) {
    if (i == chosen) {
      out.push_back(fmt::format("taken: the first {}", kind(adapters[i].info.type)));
    } else if (!is_real(adapters[i])) {
      out.emplace_back("not taken: it computes on the CPU, which Puna does faster itself");
    } else {
      out.push_back(fmt::format("not taken: {} comes first", adapters[*chosen].info.name));
    }
  }
  return out;
}

}  // namespace puna::gpu
