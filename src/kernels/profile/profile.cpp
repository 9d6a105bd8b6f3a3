#include "kernels/profile/profile.h"

#include <fmt/format.h>

#include <span>

#include "base/embedded.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/matmul/matmul_gpu.h"

std::span<const puna::base::EmbeddedFile> puna_kernels_wgsl();  // made by puna_embed

namespace puna::kernels {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;

constexpr int64_t kFormat = 1;
constexpr uint32_t kDecodeRows = 16;  // classes above it are prefill

// FNV-1a over all templates: other kernels want other numbers.
std::string templates_hash() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const base::EmbeddedFile& file : puna_kernels_wgsl()) {
    if (!file.name.ends_with(".wgsl")) continue;
    for (const char c : file.text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
  return fmt::format("{:016x}", hash);
}

Json choice_json(const ActivationChoice& choice) {
  Json out = Json::object();
  out.set("choice", name(choice.choice));
  if (choice.int8_us > 0) out.set("int8_us", choice.int8_us).set("float_us", choice.float_us);
  return out;
}

Result<std::optional<ActivationChoice>> parse_choice(const Json& activations, const char* phase) {
  const Json* json = activations.find(phase);
  if (json == nullptr) return std::nullopt;
  PUNA_TRY(const std::string text, json->get_string("choice"));
  ActivationChoice out;
  if (text != name(Activations::kInt8) && text != name(Activations::kFloat)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("Activations \"{}\" are none of int8, float.", text));
  }
  out.choice = text == name(Activations::kInt8) ? Activations::kInt8 : Activations::kFloat;
  if (json->find("int8_us") != nullptr) {
    PUNA_TRY(out.int8_us, json->get_number("int8_us"));
    PUNA_TRY(out.float_us, json->get_number("float_us"));
  }
  return out;
}

// Whether the role that a key begins with has these knobs.
bool known(std::string_view key, const KnobValues& values) {
  const std::string_view role = key.substr(0, key.find(' '));
  MatmulTuning matmul;
  AttentionTuning attention;
  return (!matmul_knobs(role).empty() && write_knobs(matmul_knobs(role), values, matmul)) ||
         (!attention_knobs(role).empty() && write_knobs(attention_knobs(role), values, attention));
}

Result<TunedKernel> parse_kernel(const std::string& key, const Json& json) {
  TunedKernel out;
  const Json* knobs = json.find("knobs");
  if (knobs == nullptr || !knobs->is_object()) {
    return base::fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" has no knobs.", key));
  }
  for (const auto& [knob, value] : knobs->members()) {
    if (!value.is_integer() || value.integer() < 0 || value.integer() > UINT32_MAX) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("\"{}\" has a knob \"{}\" that is no number.", key, knob));
    }
    out.knobs[knob] = static_cast<uint32_t>(value.integer());
  }
  if (!known(key, out.knobs)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("\"{}\" has knobs or values that do not exist.", key));
  }
  PUNA_TRY(out.default_us, json.get_number("default_us"));
  PUNA_TRY(out.tuned_us, json.get_number("tuned_us"));
  return out;
}

}  // namespace

std::string_view name(Activations activations) {
  return activations == Activations::kInt8 ? "int8" : "float";
}

ProfileKey ProfileKey::of(const gpu::DeviceInfo& device) {
  std::string features = device.f16 ? "f16 " : "";
  if (device.subgroups)
    features += fmt::format("subgroups-{}-{} ", device.subgroup_min, device.subgroup_max);
  if (device.subgroup_matrix) {
    features += fmt::format("matrix-{}x{}x{}{} ", device.matrix.m, device.matrix.n, device.matrix.k,
                            device.matrix.f32 ? "-f32" : "");
  }
  features += fmt::format("workgroup-{}-{}", device.limits.max_workgroup_invocations,
                          device.limits.max_workgroup_bytes);
  static const std::string kHash = templates_hash();
  return {device.name, device.backend, device.driver, features, kHash};
}

Activations Profile::activations(uint32_t max_rows) const {
  const auto& choice = max_rows <= kDecodeRows ? decode : prefill;
  return choice ? choice->choice : Activations::kInt8;
}

const KnobValues* Profile::find(std::string_view key) const {
  const auto found = kernels.find(key);
  return found == kernels.end() ? nullptr : &found->second.knobs;
}

Json profile_json(const ProfileKey& key, const Profile& profile) {
  Json out = Json::object();
  out.set("puna_profile", kFormat).set("adapter", key.adapter).set("backend", key.backend);
  out.set("driver", key.driver).set("features", key.features).set("kernels_hash", key.kernels);
  Json activations = Json::object();
  if (profile.decode) activations.set("decode", choice_json(*profile.decode));
  if (profile.prefill) activations.set("prefill", choice_json(*profile.prefill));
  out.set("activations", std::move(activations));
  Json kernels = Json::object();
  for (const auto& [kernel, tuned] : profile.kernels) {
    Json knobs = Json::object();
    for (const auto& [knob, value] : tuned.knobs) knobs.set(knob, value);
    Json one = Json::object();
    one.set("knobs", std::move(knobs));
    one.set("default_us", tuned.default_us).set("tuned_us", tuned.tuned_us);
    kernels.set(kernel, std::move(one));
  }
  out.set("kernels", std::move(kernels));
  return out;
}

Result<ParsedProfile> parse_profile(std::string_view text) {
  PUNA_TRY(const Json json, Json::parse(text, /*max_depth=*/8));
  PUNA_TRY(const int64_t format, json.get_integer("puna_profile"));
  if (format != kFormat) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The profile has format {}; this Puna reads {}.", format, kFormat));
  }
  ParsedProfile out;
  PUNA_TRY(out.key.adapter, json.get_string("adapter"));
  PUNA_TRY(out.key.backend, json.get_string("backend"));
  PUNA_TRY(out.key.driver, json.get_string("driver"));
  PUNA_TRY(out.key.features, json.get_string("features"));
  PUNA_TRY(out.key.kernels, json.get_string("kernels_hash"));
  if (const Json* activations = json.find("activations")) {
    PUNA_TRY(out.profile.decode, parse_choice(*activations, "decode"));
    PUNA_TRY(out.profile.prefill, parse_choice(*activations, "prefill"));
  }
  const Json* kernels = json.find("kernels");
  if (kernels == nullptr || !kernels->is_object())
    return base::fail(ErrorCode::kInvalidArgument, "The profile has no \"kernels\".");
  for (const auto& [key, value] : kernels->members()) {
    PUNA_TRY(out.profile.kernels[key], parse_kernel(key, value));
  }
  return out;
}

std::optional<Profile> shipped_profile(const gpu::DeviceInfo& device) {
  for (const base::EmbeddedFile& file : puna_kernels_wgsl()) {
    if (!file.name.starts_with("kernels/profile/shipped/")) continue;
    auto parsed = parse_profile(file.text);
    if (parsed && parsed->key.adapter == device.name && parsed->key.backend == device.backend)
      return std::move(parsed->profile);
  }
  return std::nullopt;
}

}  // namespace puna::kernels
