#include "cli/bench_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/measured.h"
#include "cli/output.h"
#include "kernels/tune/subject.h"
#include "service/profiles.h"

namespace puna::cli {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;

constexpr uint64_t kColdBytes = uint64_t{512} << 20;  // of distinct weights, beyond the caches
constexpr double kEnoughMs = 40;
constexpr int kTries = 4;

struct Shape {
  uint32_t rows = 0, cols = 0;
};

struct Row {
  quant::Type type;
  double us = 0;
  double gb_per_s = 0;
  double of_read = 0;
};

Result<Shape> parse_shape(const std::string& text) {
  Shape shape;
  const char* end = text.data() + text.size();
  const auto [x, rows_error] = std::from_chars(text.data(), end, shape.rows);
  const bool has_x = rows_error == std::errc() && x != end && *x == 'x';
  const auto [last, cols_error] = std::from_chars(has_x ? x + 1 : end, end, shape.cols);
  if (!has_x || cols_error != std::errc() || last != end || shape.rows == 0 || shape.cols == 0 ||
      shape.cols % 256 != 0) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("\"{}\" is no shape like 14336x4096 (rows x columns, the columns "
                                  "a multiple of 256).",
                                  text));
  }
  return shape;
}

Result<std::vector<quant::Type>> parse_types(std::string_view text) {
  std::vector<quant::Type> types;
  if (text == "all") {
    for (const quant::TypeInfo& type : quant::types()) types.push_back(type.type);
    return types;
  }
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    const quant::TypeInfo* type = quant::find(name);
    if (type == nullptr) {
      return base::fail(ErrorCode::kUsage,
                        fmt::format("\"{}\" is no weight type; `--types all` lists them.", name));
    }
    types.push_back(type->type);
    text.remove_prefix(std::min(name.size() + 1, text.size()));
  }
  return types;
}

// A mat-vec of the type as a model would run it, in as many bindings as the device needs.
Result<Row> measure(gpu::Device& device, const kernels::Profile* profile, quant::Type type,
                    const Shape& shape, kernels::Numerics numerics, double read_gb_per_s) {
  kernels::MatmulArgs args;
  args.label = fmt::format("{} mat-vec", quant::info(type).name);
  args.numerics = numerics;
  args.profile = profile;
  args.weight = {type, shape.rows, shape.cols, {}};
  uint32_t chunk = (shape.rows + 7) / 8 * 8;
  while (chunk > 8 &&
         quant::row_bytes(type, shape.cols) * chunk > device.info().limits.max_binding_bytes / 2)
    chunk = (chunk / 2 + 7) / 8 * 8;
  for (uint32_t first = 0; first < shape.rows; first += chunk)
    args.weight.chunks.push_back({{}, first, std::min(chunk, shape.rows - first)});
  const bool software = device.info().type == gpu::AdapterType::kSoftware;
  PUNA_TRY(const auto product, kernels::Product::create(device, args, software ? 1 : kColdBytes));
  Row row{type};
  PUNA_TRY(row.us,
           product->us(kernels::chosen_tuning(device.info(), product->args()), kEnoughMs, kTries));
  row.gb_per_s = static_cast<double>(product->weight_bytes()) / row.us / 1e3;
  row.of_read = row.gb_per_s / read_gb_per_s;
  return row;
}

Json to_json(const Row& row) {
  const quant::TypeInfo& info = quant::info(row.type);
  Json out = Json::object();
  out.set("type", info.name).set("bits_per_weight", info.bits_per_weight()).set("us", row.us);
  out.set("gb_per_s", row.gb_per_s).set("of_read", row.of_read);
  return out;
}

}  // namespace

Result<int> bench_types(const ModelFlags& flags, const std::string& types,
                        const std::string& shape_text, bool json) {
  PUNA_TRY(const std::vector<quant::Type> wanted, parse_types(types));
  PUNA_TRY(const Shape shape, parse_shape(shape_text));
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, open_options(flags, {}, bar));
  PUNA_TRY(const service::DeviceUse use, open_gpu(options, "--types"));
  const auto profile = service::profile_for(*use.device, options.engine.numerics);
  PUNA_TRY(const kernels::Ceilings ceilings, kernels::measure_ceilings(*use.device));
  Json rows = Json::array();
  if (!json) {
    print_out("mat-vec {}x{} ({}) on {}; plain reads: {:.1f} GB/s\n", shape.rows, shape.cols,
              name(options.engine.numerics), use.name, ceilings.read_gb_per_s);
    print_out("{:<8} {:>6} {:>9} {:>9} {:>7}\n", "type", "bits", "us", "GB/s", "of read");
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (interrupted()) return base::fail(ErrorCode::kCancelled, "The benchmark was interrupted.");
    bar.count(quant::info(wanted[i]).name, i, wanted.size());
    PUNA_TRY(const Row row, measure(*use.device, profile.get(), wanted[i], shape,
                                    options.engine.numerics, ceilings.read_gb_per_s));
    bar.clear();
    rows.push(to_json(row));
    if (json) continue;
    print_out("{:<8} {:>6.4g} {:>9.2f} {:>9.1f} {:>5.0f} %\n", quant::info(row.type).name,
              quant::info(row.type).bits_per_weight(), row.us, row.gb_per_s, row.of_read * 100);
    std::fflush(stdout);
  }
  if (json) {
    Json out = Json::object();
    out.set("device", use.name).set("numerics", name(options.engine.numerics));
    out.set("shape", fmt::format("{}x{}", shape.rows, shape.cols));
    out.set("ceilings", ceilings_json(ceilings)).set("types", std::move(rows));
    print_json(out);
  }
  return 0;
}

}  // namespace puna::cli
