// puna selftest: every kernel and weight type on this device against its plain reference.

#include "kernels/selftest/selftest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <utility>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "store/name.h"

namespace puna::cli {
namespace {

using base::Json;

struct SelftestFlags {
  ModelFlags model;
  std::string filter;
  bool json = false;
};

base::Result<int> run_selftest(const SelftestFlags& flags) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, open_options(flags.model, {}, bar));
  PUNA_TRY(service::DeviceUse use, service::open_device(options));
  base::ThreadPool pool(options.engine.n_threads);
  kernels::SelftestOptions test;
  test.filter = store::lower_case(flags.filter);  // as roles and types are called
  test.cancel = &interrupted();
  if (!flags.json) {
    test.on_result = [&use, is_first = true](const kernels::SelftestResult& r) mutable {
      if (std::exchange(is_first, false)) {
        print_out("{}\n{:<10} {:<12} {:<44} {:>9} {:>8}\n", use.name, "role", "type", "shape",
                  "NMSE", "limit");
      }
      print_out("{:<10} {:<12} {:<44} {:>9.2e} {:>8.0e} {}\n", r.role, r.type, r.shape, r.nmse,
                r.limit, r.pass() ? "pass" : "FAIL");
      std::fflush(stdout);
    };
  }
  PUNA_TRY(const auto results, kernels::selftest({pool, use.device.get()}, test));
  size_t n_passed = 0;
  Json rows = Json::array();
  for (const kernels::SelftestResult& r : results) {
    n_passed += r.pass();
    Json row = Json::object();
    row.set("role", r.role).set("type", r.type).set("shape", r.shape);
    row.set("nmse", std::isfinite(r.nmse) ? Json(r.nmse) : Json())
        .set("limit", r.limit)
        .set("pass", r.pass());
    rows.push(std::move(row));
  }
  if (results.empty())
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("No case matches --filter {}.", flags.filter));
  if (flags.json) {
    Json out = Json::object();
    out.set("device", use.name).set("results", std::move(rows));
    print_json(out);
  } else {
    print_out("{} of {} pass\n", n_passed, results.size());
  }
  return n_passed == results.size() ? 0 : 1;
}

}  // namespace

Action add_selftest(CLI::App& app) {
  auto flags = std::make_shared<SelftestFlags>();
  app.add_option("--filter", flags->filter, "Only cases whose role or type contains this");
  app.add_flag("--json", flags->json, "Print one JSON document");
  add_device_flags(app, flags->model);
  return [flags] { return run_selftest(*flags); };
}

}  // namespace puna::cli
