#include "kernels/profile/profile.h"

#include <doctest/doctest.h>

#include "kernels/attention/attention_gpu.h"
#include "kernels/matmul/matmul_gpu.h"

using namespace puna;
using namespace puna::kernels;

namespace {

gpu::DeviceInfo some_device() {
  gpu::DeviceInfo device;
  device.name = "a GPU";
  device.backend = "vulkan";
  device.driver = "1.2";
  device.subgroups = true;
  device.subgroup_min = device.subgroup_max = 32;
  device.limits.max_workgroup_bytes = 32768;
  return device;
}

MatmulArgs product(uint32_t max_rows) {
  MatmulArgs args;
  args.label = "product";
  args.weight = {quant::Type::kQ4_0, 4096, 4096, {{{0, 0, 1u << 24}, 0, 4096}}};
  args.y_stride = 4096;
  args.numerics = Numerics::kFast;
  args.max_rows = max_rows;
  return args;
}

Profile with(const std::string& key, KnobValues knobs) {
  Profile profile;
  profile.kernels[key] = {std::move(knobs), 10, 9};
  return profile;
}

}  // namespace

TEST_CASE("a profile is written and read back") {
  Profile profile = with("matvec q4_0 4096x4096 fast x1", {{"lanes", 64}, {"workgroup", 256}});
  profile.kernels["attention_decode f16 128/128 8x32 x1"] = {{{"keys", 2}}, 5.5, 4.5};
  profile.decode = {Activations::kFloat, 12.5, 11};
  profile.prefill = {Activations::kInt8, 0, 0};
  const ProfileKey key = ProfileKey::of(some_device());
  const auto parsed = parse_profile(profile_json(key, profile).dump(1));
  REQUIRE_MESSAGE(parsed, parsed.error().text());
  CHECK(parsed->key == key);
  CHECK(profile_json(key, parsed->profile) == profile_json(key, profile));
  CHECK(parsed->profile.activations(1) == Activations::kFloat);
  CHECK(parsed->profile.activations(512) == Activations::kInt8);
}

TEST_CASE("the key of a profile changes with the driver, the features and the limits") {
  const ProfileKey key = ProfileKey::of(some_device());
  gpu::DeviceInfo other = some_device();
  other.driver = "1.3";
  CHECK(ProfileKey::of(other) != key);
  other = some_device();
  other.f16 = true;
  CHECK(ProfileKey::of(other) != key);
  other = some_device();
  other.limits.max_workgroup_bytes = 16384;
  CHECK(ProfileKey::of(other) != key);
  CHECK(key.kernels.size() == 16);
}

TEST_CASE("a bad profile is refused with a sentence") {
  const std::string good =
      profile_json(ProfileKey::of(some_device()), with("gemm f16 64x64 fast x512", {{"rows", 4}}))
          .dump();
  REQUIRE(parse_profile(good));
  for (size_t n = 0; n + 1 < good.size(); ++n) CHECK(!parse_profile(good.substr(0, n)));
  const auto refused = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto parsed = parse_profile(text);
    return parsed ? std::string() : parsed.error().text();
  };
  CHECK(refused("\"puna_profile\":1", "\"puna_profile\":2") ==
        "The profile has format 2; this Puna reads 1.");
  CHECK(refused("\"rows\":4", "\"rows\":5").find("do not exist") != std::string::npos);
  CHECK(refused("\"rows\":4", "\"wheels\":4").find("do not exist") != std::string::npos);
  CHECK(refused("\"rows\":4", "\"rows\":-4").find("no number") != std::string::npos);
  CHECK(refused("\"rows\":4", "\"rows\":\"4\"").find("no number") != std::string::npos);
  CHECK(refused("gemm f16", "guess f16").find("do not exist") != std::string::npos);
  CHECK(!refused("\"knobs\":{\"rows\":4}", "\"knobs\":[]").empty());
}

TEST_CASE("a product takes what the profile has for its role and shape, and nothing else") {
  const gpu::DeviceInfo device = some_device();
  MatmulArgs args = product(1);
  const MatmulTuning portable = chosen_tuning(device, args);
  CHECK(matmul_key(args, matmul_role(args, portable)) == "matvec q4_0 4096x4096 fast x1");
  const Profile profile = with("matvec q4_0 4096x4096 fast x1", {{"lanes", 16}, {"workgroup", 64}});
  args.profile = &profile;
  CHECK(chosen_tuning(device, args).matvec.lanes == 16);
  CHECK(chosen_tuning(device, args).matvec.workgroup == 64);
  CHECK(chosen_tuning(device, args).matvec.own_int8 == portable.matvec.own_int8);
  args.weight.rows = 2048;
  CHECK(chosen_tuning(device, args).matvec.lanes == chosen_tuning(device, product(1)).matvec.lanes);
}

TEST_CASE("a profile that the device cannot run is passed over") {
  const gpu::DeviceInfo device = some_device();
  MatmulArgs args = product(1);
  const Profile large = with("matvec q4_0 4096x4096 fast x1", {{"workgroup", 1024}});
  args.profile = &large;
  CHECK(chosen_tuning(device, args).matvec.workgroup <= device.limits.max_workgroup_invocations);
  // Gated products need an even number of groups of rows.
  args.epilogue = Epilogue::kSwiGlu;
  args.y_stride = 2048;
  const Profile odd = with("matvec q4_0 4096x4096 fast x1 gated",
                           {{"workgroup", 64}, {"lanes", 64}, {"groups", 1}});
  args.profile = &odd;
  const MatvecTuning chosen = chosen_tuning(device, args).matvec;
  CHECK(chosen.workgroup / chosen.lanes * chosen.groups % 2 == 0);
  std::vector<KernelCall> calls;
  CHECK(matmul(device, args, calls));
}

TEST_CASE("float activations leave out int8, and its scratch, in fast products alone") {
  const gpu::DeviceInfo device = some_device();
  Profile profile;
  profile.decode = profile.prefill = {Activations::kFloat, 2, 1};
  for (const uint32_t max_rows : {1u, 16u, 512u}) {
    MatmulArgs args = product(max_rows);
    CHECK((matmul_scratch_bytes(device, args) > 0) == (max_rows > 1));
    args.profile = &profile;
    CHECK(matmul_scratch_bytes(device, args) == 0);
    CHECK(matmul_x_form(device, args) == XForm::kPlain);
    CHECK(!matmul_makes_norm(device, args));
    std::vector<KernelCall> calls;
    REQUIRE(matmul(device, args, calls));
    for (const KernelCall& call : calls) CHECK(call.kernel != "matmul/gemm_int8.wgsl");
  }
}

TEST_CASE("attention takes knobs of its role, within the device's limits") {
  gpu::DeviceInfo device = some_device();
  AttentionArgs args{.label = "attn", .kv = {KvType::kF16, 4, 8, 128}, .n_heads = 32};
  CHECK(attention_key(args) == "attention_decode f16 128/128 8x32 x1");
  const Profile profile =
      with("attention_decode f16 128/128 8x32 x1", {{"workgroup", 256}, {"max_splits", 128}});
  CHECK(attention_max_splits(device, args) == 64);
  args.profile = &profile;
  CHECK(attention_max_splits(device, args) == 128);
  CHECK(attention_tuning(device, args)->decode.workgroup == 256);
  device.limits.max_workgroup_invocations = 128;
  CHECK(attention_tuning(device, args)->decode.workgroup == 128);

  device = some_device();
  args.max_rows = 512;
  const Profile no_tile = with("attention_prefill f16 128/128 8x32 x512",
                               {{"rows", 1}, {"row_groups", 8}, {"columns", 16}});
  args.profile = &no_tile;
  CHECK(attention_tuning(device, args)->prefill == attention_prefill_tiles(device, args).front());
}

TEST_CASE("attention decodes in as many groups as workgroup memory can merge") {
  gpu::DeviceInfo device = some_device();
  const AttentionArgs args{.label = "attn", .kv = {KvType::kF16, 4, 1, 256}, .n_heads = 4};
  CHECK(attention_tuning(device, args)->decode.workgroup == 128);
  // 32 groups of four lanes would merge 32 KiB and their maxima.
  device.subgroup_min = device.subgroup_max = 4;
  CHECK(attention_tuning(device, args)->decode.workgroup == 64);
}

TEST_CASE("the profiles that ship with Puna can be read") {
  gpu::DeviceInfo device = some_device();
  CHECK(!shipped_profile(device));
  device.name = "NVIDIA H200";
  const auto profile = shipped_profile(device);
  REQUIRE(profile);
  CHECK(profile->decode.has_value());
}
