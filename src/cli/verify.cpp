// puna verify: checks every file of the store.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"

namespace puna::cli {
namespace {

using base::Json;

struct VerifyFlags {
  std::vector<std::string> models;
  bool repair = false;
  bool insecure = false;
  bool json = false;
  std::optional<uint32_t> min_age_s;
};

Json verified_json(const store::Verified& verified) {
  Json findings = Json::array();
  for (const store::Finding& each : verified.findings) {
    Json finding = Json::object();
    finding.set("model", each.model)
        .set("path", each.path)
        .set("what", each.what)
        .set("repaired", each.repaired)
        .set("damage", each.damage);
    findings.push(std::move(finding));
  }
  Json out = Json::object();
  out.set("models", verified.n_models)
      .set("blobs", verified.n_blobs)
      .set("bytes", verified.bytes)
      .set("fine", verified.fine())
      .set("findings", std::move(findings));
  return out;
}

base::Result<int> run_verify(const VerifyFlags& flags) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const store::Store store, store::Store::of_environment());
  store::VerifyOptions options{.names = flags.models, .repair = flags.repair};
  options.pull = transfer_options(bar);
  options.pull.insecure = flags.insecure;
  if (flags.min_age_s)
    options.collect.min_age_s = options.collect.min_part_age_s = *flags.min_age_s;
  PUNA_TRY(const store::Verified verified, store.verify(options));
  bar.clear();
  if (flags.json) {
    print_json(verified_json(verified));
    return verified.fine() ? 0 : 1;
  }
  for (const store::Finding& each : verified.findings) {
    print_out("{}: {}{}{} ({})\n", each.model.empty() ? "left over" : base::printable(each.model),
              base::printable(each.what), each.repaired.empty() ? "" : " ",
              base::printable(each.repaired), base::printable(each.path));
  }
  print_out("{} model{}, {} file{}, {}: {}\n", verified.n_models, verified.n_models == 1 ? "" : "s",
            verified.n_blobs, verified.n_blobs == 1 ? "" : "s", human_bytes(verified.bytes),
            verified.fine() ? "fine" : "damaged");
  return verified.fine() ? 0 : 1;
}

}  // namespace

Action add_verify(CLI::App& app) {
  auto flags = std::make_shared<VerifyFlags>();
  app.add_option("MODEL", flags->models, "These alone; default: all of the store");
  app.add_flag("--repair", flags->repair,
               "Fetch again what is damaged, set damaged manifests aside, and delete what belongs "
               "to no model");
  add_number(app, "--min-age", flags->min_age_s, kCounts,
             "Seconds since it was written before what is left over is deleted; default: an hour, "
             "and a week for what a download may go on with");
  app.add_flag("--insecure", flags->insecure, "Allow plain http where something is fetched again");
  app.add_flag("--json", flags->json, "Print one JSON document");
  return [flags] { return run_verify(*flags); };
}

}  // namespace puna::cli
