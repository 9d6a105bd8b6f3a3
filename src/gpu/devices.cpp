#include "gpu/devices.h"

#include <fmt/format.h>

#include <charconv>

namespace puna::gpu {
namespace {

using base::ErrorCode;
using base::fail;

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

base::Result<Choice> choose_index(std::string_view wanted,
                                  std::span<const native::Adapter> adapters) {
  const std::string_view digits = wanted.substr(std::string_view("gpu:").size());
  size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Device \"{}\" is not gpu:N with a number N.", wanted));
  }
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

base::Result<Choice> choose_device(std::string_view wanted,
                                   std::span<const native::Adapter> adapters) {
  if (wanted == "cpu") return Choice{std::nullopt, "asked for", {}};
  if (wanted.starts_with("gpu:")) return choose_index(wanted, adapters);
  if (wanted != "auto" && wanted != "gpu") {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Device \"{}\" is none of auto, gpu, gpu:N, cpu.", wanted));
  }
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
