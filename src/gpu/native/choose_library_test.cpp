#include "gpu/native/choose_library.h"

#include <doctest/doctest.h>

using namespace puna::gpu;
using namespace puna::gpu::native;

namespace {

DeviceInfo card(bool matrix_units) {
  DeviceInfo info;
  info.type = AdapterType::kDiscrete;
  info.subgroup_matrix = matrix_units;
  if (matrix_units) info.matrix = {.m = 16, .n = 8, .k = 32};
  return info;
}

}  // namespace

TEST_CASE("Dawn serves a card whose matrix units it reaches, wgpu-native every other") {
  const DeviceInfo with = card(true), without = card(false);
  const LibraryChoice units = choose_library(&with, &without);
  CHECK(units.library == LibraryKind::kDawn);
  CHECK(units.why == "it reaches the matrix units (16x8x32)");
  const LibraryChoice plain = choose_library(&without, &without);
  CHECK(plain.library == LibraryKind::kWgpuNative);
  CHECK(plain.why == "there are no matrix units to gain, and it loads models sooner than Dawn");
}

TEST_CASE("matrix units of no shape that Puna uses gain nothing") {
  DeviceInfo odd = card(true);
  odd.matrix = {};
  const DeviceInfo other = card(false);
  CHECK(choose_library(&odd, &other).library == LibraryKind::kWgpuNative);
}

TEST_CASE("an adapter that one library offers is served by that one") {
  const DeviceInfo info = card(false);
  CHECK(choose_library(&info, nullptr).library == LibraryKind::kDawn);
  CHECK(choose_library(nullptr, &info).library == LibraryKind::kWgpuNative);
  CHECK(choose_library(nullptr, &info).why == "the only library here that offers it");
}

TEST_CASE("a card whose matrix units are idle is told what brings them") {
  DeviceInfo info = card(false);
  info.backend = "vulkan";
  info.vendor = "nvidia";
  CHECK(advise_dawn(info) == "");  // older than matrix units
  info.f16 = true;
  CHECK(advise_dawn(info).starts_with("its matrix units are idle; with Dawn"));
  CHECK(advise_dawn(info).find("`tools/setup --dawn-wheel`") != std::string::npos);
  info.vendor = "amd";
  CHECK(advise_dawn(info).starts_with("if it has matrix units, they are idle"));
  info.vendor = "mesa";
  CHECK(advise_dawn(info) == "");
  info.vendor = "nvidia";
  info.type = AdapterType::kSoftware;
  CHECK(advise_dawn(info) == "");
}
