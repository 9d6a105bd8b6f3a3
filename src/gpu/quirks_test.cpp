#include "gpu/quirks.h"

#include <doctest/doctest.h>

using namespace puna::gpu;

TEST_CASE("a quirk changes only the devices it names") {
  DeviceInfo info;
  info.vendor = "nvidia";
  info.backend = "vulkan";
  info.subgroups = info.dot4 = true;
  info.subgroup_min = info.subgroup_max = 32;
  CHECK(apply_quirks(info).empty());
  info.vendor = "intel";
  CHECK(apply_quirks(info) == std::vector<std::string_view>{"intel-subgroup-size-varies"});
  CHECK(info.subgroup_min == 8);
  CHECK(info.subgroup_max == 32);
  info.vendor = "apple";
  info.backend = "metal";
  CHECK(apply_quirks(info) == std::vector<std::string_view>{"metal-has-no-dot4"});
  CHECK_FALSE(info.dot4);
  info.vendor = info.backend = "";
  info.name = "google swiftshader";
  CHECK(apply_quirks(info).empty());
  info.type = AdapterType::kSoftware;
  CHECK(apply_quirks(info) == std::vector<std::string_view>{"software-adapters-compile-slowly"});
  CHECK(info.slow_compiler);
}

TEST_CASE("every quirk says what, when, why and where it is known from") {
  for (const Quirk& quirk : quirks()) {
    CHECK(quirk.name != "");
    CHECK(quirk.when != "");
    CHECK(quirk.why.ends_with('.'));
    CHECK(quirk.link.starts_with("https://"));
  }
}

TEST_CASE("hidden features leave the WebGPU baseline") {
  DeviceInfo info;
  info.f16 = info.subgroups = info.dot4 = info.subgroup_matrix = true;
  info.subgroup_min = info.subgroup_max = 32;
  info.limits = {uint64_t{1} << 40, uint64_t{1} << 32, 8, 65536, 1024, 65535};
  hide_features(info);
  CHECK_FALSE((info.f16 || info.subgroups || info.dot4 || info.subgroup_matrix));
  CHECK(info.subgroup_max == 0);
  CHECK(info.limits.max_binding_bytes == 128u << 20);
  CHECK(info.limits.max_workgroup_invocations == 256);
}
