// Which device --device means, with the reason in words for `puna devices`.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/native/native.h"

namespace puna::gpu {

struct Choice {
  std::optional<size_t> adapter;  // index into the adapters; none = the CPU
  std::vector<size_t> more;       // further ones, for what that one has no room for
  std::string why;                // "the first discrete GPU"
  std::string warning;            // to print when not empty
};

// Errors: kInvalidArgument when `wanted` is no value of --device, whatever this machine has.
base::Result<void> check_device_name(std::string_view wanted);

// `wanted` is the value of --device:
//   auto   the first real GPU, behind it other discrete ones where it is discrete, else the CPU; a
//          software adapter is never taken
//   gpu    the same, else the first software adapter, with a warning
//   gpu:N  adapter N of the list; gpu:N,gpu:M that one, then M
//   cpu    the CPU
// Errors: those of check_device_name(); kNotFound when there is no such adapter.
base::Result<Choice> choose_device(std::string_view wanted,
                                   std::span<const native::Adapter> adapters);

// For each adapter, why `auto` takes it or not: one sentence without a full stop.
std::vector<std::string> explain_auto(std::span<const native::Adapter> adapters);

}  // namespace puna::gpu
