#include "gpu/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

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
  if (!wanted.starts_with(kIndexed)) return std::nullopt;
  const std::string_view digits = wanted.substr(kIndexed.size());
  size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return index;
}

// Those of "gpu:N,gpu:M", which are not checked for being there.
base::Result<std::vector<size_t>> indices_of(std::string_view wanted) {
  std::vector<size_t> out;
  for (size_t begin = 0; begin <= wanted.size();) {
    const size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string_view one = wanted.substr(begin, end - begin);
    const auto index = index_of(one);
    if (!index) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Device \"{}\" is not gpu:N with a number N.", one));
    }
    if (std::ranges::find(out, *index) != out.end()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Device \"{}\" names gpu:{} twice.", wanted, *index));
    }
    out.push_back(*index);
    begin = end + 1;
  }
  return out;
}

base::Result<Choice> choose_indices(std::string_view wanted, std::vector<size_t> indices,
                                    std::span<const native::Adapter> adapters) {
  for (const size_t index : indices) {
    if (index < adapters.size()) continue;
    return fail(ErrorCode::kNotFound,
                adapters.empty()
                    ? fmt::format("There is no GPU for --device {}; use --device cpu.", wanted)
                    : fmt::format("There is no GPU {}; `puna devices` lists 0 to {}.", index,
                                  adapters.size() - 1));
  }
  Choice out{indices.front(), {}, "asked for by index", {}};
  out.more.assign(indices.begin() + 1, indices.end());
  return out;
}

// Cards of their own memory beside one that is such a card.
std::vector<size_t> others_beside(size_t first, std::span<const native::Adapter> adapters) {
  std::vector<size_t> out;
  const auto is_discrete = [&](size_t i) {
    return adapters[i].info.type == AdapterType::kDiscrete;
  };
  for (size_t i = 0; is_discrete(first) && i < adapters.size(); ++i) {
    if (i != first && is_discrete(i)) out.push_back(i);
  }
  return out;
}

}  // namespace

base::Result<void> check_device_name(std::string_view wanted) {
  if (wanted == "auto" || wanted == "gpu" || wanted == "cpu") return {};
  if (!wanted.starts_with(kIndexed)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Device \"{}\" is none of auto, gpu, gpu:N, cpu.", wanted));
  }
  PUNA_TRY(indices_of(wanted));
  return {};
}

base::Result<Choice> choose_device(std::string_view wanted,
                                   std::span<const native::Adapter> adapters) {
  PUNA_TRY(check_device_name(wanted));
  if (wanted == "cpu") return Choice{std::nullopt, {}, "asked for", {}};
  if (wanted.starts_with(kIndexed)) {
    PUNA_TRY(std::vector<size_t> indices, indices_of(wanted));
    return choose_indices(wanted, std::move(indices), adapters);
  }
  if (const auto real = first_real(adapters)) {
    return Choice{real,
                  others_beside(*real, adapters),
                  fmt::format("the first {}", kind(adapters[*real].info.type)),
                  {}};
  }
  if (wanted == "auto") {
    return Choice{std::nullopt,
                  {},
                  adapters.empty() ? "there is no GPU" : "there is no GPU, only a software adapter",
                  {}};
  }
  if (adapters.empty()) {
    return fail(ErrorCode::kNotFound,
                "There is no GPU that WebGPU can use; check the driver, or use --device cpu.");
  }
  return Choice{0,
                {},
                "there is no real GPU",
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
