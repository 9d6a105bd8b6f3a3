#include "cli/measured.h"

#include <fmt/format.h>

namespace puna::cli {

using base::Json;

namespace {

Json to_json(const kernels::ActivationChoice& choice) {
  Json out = Json::object();
  out.set("choice", name(choice.choice));
  if (choice.int8_us > 0) out.set("int8_us", choice.int8_us).set("float_us", choice.float_us);
  return out;
}

constexpr uint32_t kDecode = 1, kPrefill = kernels::kMaxStepTokens;

}  // namespace

base::Result<service::DeviceUse> open_gpu(const service::OpenOptions& options,
                                          std::string_view flag) {
  PUNA_TRY(service::DeviceUse use, service::open_device(options));
  if (use.device) return use;
  return base::fail(
      base::ErrorCode::kUnsupported,
      fmt::format("{} is for GPUs, and the device is {} ({}).", flag, use.name, use.why));
}

Json ceilings_json(const kernels::Ceilings& ceilings) {
  Json out = Json::object();
  out.set("read_gb_per_s", ceilings.read_gb_per_s).set("f32_tflops", ceilings.f32_tflops);
  out.set("f16_tflops", ceilings.f16_tflops).set("int8_tops", ceilings.int8_tops);
  return out;
}

Json activations_json(const kernels::Profile* profile) {
  if (profile == nullptr) return {};
  Json out = Json::object();
  out.set("decode", to_json(profile->decode.value_or(kernels::ActivationChoice{})));
  out.set("prefill", to_json(profile->prefill.value_or(kernels::ActivationChoice{})));
  out.set("tuned_kernels", profile->kernels.size());
  return out;
}

std::string profile_text(const kernels::Profile& profile) {
  return fmt::format("{} activations to decode, {} for prompts; {} tuned kernels",
                     name(profile.activations(kDecode)), name(profile.activations(kPrefill)),
                     profile.kernels.size());
}

}  // namespace puna::cli
