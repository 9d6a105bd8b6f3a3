// Knobs: the numbers that tune a kernel, by name, so that a profile can hold them and a search can
// turn them without knowing the kernel. Each role has a table of its own (matmul_gpu.h,
// attention_gpu.h); its portable defaults are code beside the kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace puna::kernels {

using KnobValues = std::map<std::string, uint32_t, std::less<>>;

template <class Tuning>
struct Knob {
  std::string_view name;
  std::array<uint32_t, 6> values{};  // that it may take, rising; unused ones are 0 and come last
  size_t n_values = 0;
  uint32_t (*get)(const Tuning&) = nullptr;
  void (*set)(Tuning&, uint32_t) = nullptr;

  std::span<const uint32_t> allowed() const { return std::span(values).first(n_values); }
};

// The knob of field `Field` in part `Part` of a tuning: knob<&MatmulTuning::gemm,
// &GemmTuning::rows>("rows", 4, 8).
template <auto Part, auto Field, class Tuning, class... Values>
constexpr Knob<Tuning> make_knob(std::string_view name, Values... values) {
  Knob<Tuning> knob;
  knob.name = name;
  knob.values = {static_cast<uint32_t>(values)...};
  knob.n_values = sizeof...(values);
  knob.get = [](const Tuning& t) { return static_cast<uint32_t>((t.*Part).*Field); };
  knob.set = [](Tuning& t, uint32_t value) {
    auto& field = (t.*Part).*Field;
    field = static_cast<std::remove_reference_t<decltype(field)>>(value);
  };
  return knob;
}

template <class Tuning>
KnobValues read_knobs(std::span<const Knob<Tuning>> knobs, const Tuning& tuning) {
  KnobValues values;
  for (const Knob<Tuning>& knob : knobs) values.emplace(knob.name, knob.get(tuning));
  return values;
}

// False, with the tuning as it was, when a name is unknown or a value is not allowed.
template <class Tuning>
bool write_knobs(std::span<const Knob<Tuning>> knobs, const KnobValues& values, Tuning& tuning) {
  Tuning changed = tuning;
  for (const auto& [name, value] : values) {
    const auto knob = std::find_if(knobs.begin(), knobs.end(),
                                   [&](const Knob<Tuning>& k) { return k.name == name; });
    if (knob == knobs.end()) return false;
    const auto allowed = knob->allowed();
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) return false;
    knob->set(changed, value);
  }
  tuning = changed;
  return true;
}

}  // namespace puna::kernels
