// puna devices: what this machine offers, and which device `auto` takes.

#include "gpu/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/measured.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "gpu/native/native.h"
#include "kernels/matmul/cpu_matrix.h"
#include "service/profiles.h"

namespace puna::cli {
namespace {

using base::Json;

Json limits_json(const gpu::Limits& limits) {
  Json out = Json::object();
  out.set("max_buffer_bytes", limits.max_buffer_bytes)
      .set("max_binding_bytes", limits.max_binding_bytes);
  out.set("max_storage_buffers", limits.max_storage_buffers)
      .set("max_workgroup_bytes", limits.max_workgroup_bytes);
  out.set("max_workgroup_invocations", limits.max_workgroup_invocations);
  out.set("max_workgroups_per_dimension", limits.max_workgroups_per_dimension);
  return out;
}

// What is stored, or comes with Puna, for the adapter. Opened, it says all that a profile depends
// on.
std::optional<kernels::Profile> profile_of(size_t adapter) {
  const auto device = gpu::native::open(adapter);
  if (!device) return std::nullopt;
  if (auto stored = service::stored_profile((*device)->info())) return stored;
  return kernels::shipped_profile((*device)->info());
}

Json adapter_json(size_t i, const gpu::native::Adapter& adapter, bool chosen,
                  const std::string& why) {
  Json features = Json::array();
  for (const std::string& f : adapter.features) features.push(f);
  Json out = Json::object();
  out.set("id", fmt::format("gpu:{}", i))
      .set("name", adapter.info.name)
      .set("type", gpu::name(adapter.info.type));
  out.set("backend", adapter.info.backend)
      .set("driver", adapter.info.driver)
      .set("features", std::move(features));
  out.set("limits", limits_json(adapter.info.limits)).set("chosen", chosen).set("why", why);
  out.set("library", name(adapter.library))
      .set("library_path", adapter.library_path)
      .set("library_why", adapter.library_why)
      .set("advice", adapter.advice);
  const auto profile = profile_of(i);
  out.set("activations", activations_json(profile ? &*profile : nullptr));
  out.set("profile", profile ? profile_text(*profile) : "none yet: the portable defaults");
  return out;
}

Json cpu_json(bool chosen, const std::string& why) {
  Json variants = Json::array();
  for (std::string_view v : kernels::cpu_variants()) variants.push(v);
  Json limits = Json::object();
  limits.set("physical_cores", base::n_physical_cores());
  Json out = Json::object();
  out.set("id", "cpu")
      .set("name", fmt::format("CPU ({})", kernels::cpu_variant()))
      .set("type", "cpu")
      .set("backend", "cpu");
  out.set("driver", "").set("features", std::move(variants)).set("limits", std::move(limits));
  out.set("chosen", chosen).set("why", why);
  return out;
}

}  // namespace

base::Result<int> print_devices(bool json) {
  std::vector<gpu::native::Adapter> adapters;
  if (auto found = gpu::native::adapters()) {
    adapters = *std::move(found);
  } else if (found.error().code == base::ErrorCode::kInvalidArgument) {
    return std::unexpected(std::move(found.error()));
  } else {
    base::log_warning("{}", found.error().text());
  }
  PUNA_TRY(const gpu::Choice choice, gpu::choose_device("auto", adapters));
  const std::vector<std::string> why = gpu::explain_auto(adapters);
  Json devices = Json::array();
  for (size_t i = 0; i < adapters.size(); ++i)
    devices.push(adapter_json(i, adapters[i], choice.adapter == i, why[i]));
  const bool cpu = !choice.adapter;
  devices.push(cpu_json(cpu, cpu ? choice.why : "a GPU is taken"));
  if (json) {
    Json out = Json::object();
    out.set("auto", cpu ? "cpu" : fmt::format("gpu:{}", *choice.adapter))
        .set("devices", std::move(devices));
    print_json(out);
    return 0;
  }
  for (const Json& d : devices.items()) {
    print_out("{} {:<6} {} ({}, {}{}{})\n", d.find("chosen")->boolean() ? "*" : " ",
              d.find("id")->string(), d.find("name")->string(), d.find("type")->string(),
              d.find("backend")->string(), d.find("driver")->string().empty() ? "" : ", ",
              d.find("driver")->string());
    std::string features;
    for (const Json& f : d.find("features")->items())
      features += (features.empty() ? "" : ", ") + f.string();
    print_out("         features: {}\n         {}\n", features.empty() ? "none" : features,
              d.find("why")->string());
    if (const Json* profile = d.find("profile"))
      print_out("         profile: {}\n", profile->string());
    if (const Json* library = d.find("library"))
      print_out("         library: {}: {}\n", library->string(), d.find("library_why")->string());
    if (const Json* advice = d.find("advice"); advice && !advice->string().empty())
      print_out("         advice: {}\n", advice->string());
  }
  return 0;
}

Action add_devices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print one JSON document");
  return [json] { return print_devices(*json); };
}

}  // namespace puna::cli
