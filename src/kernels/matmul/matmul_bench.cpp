// Speed of GPU products: GB/s of weights read (mat-vec) or TFLOPS (more rows) for each type, shape
// and tuning.
//   puna_matmul_bench [--types q4_0,q8_0] [--shapes 4096x4096,14336x4096] [--rows 1,512]
//   [--numerics fast|exact] [--sweep]
//                     [--tiles 1x4x2-2x2-2-1-2,...] [--adapter N]
// Shapes are N x K (weight rows x columns). A measurement goes through products over copies
// of the weight that together exceed the caches, each waiting for the one before (they write the
// same y), as in a model. --sweep tries many tunings and marks the best; --tiles those of matrix
// units that are named: subgroups, fragments, units of a step, splits of K, steps ahead.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "kernels/common/step.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/testing/gpu_bench.h"
#include "quant/planes.h"

using namespace puna;
using namespace puna::kernels;

namespace {

constexpr uint64_t kColdBytes = 512u << 20;  // of distinct weights in a measurement
// The clocks of a GPU that waited for a compiler take tens of milliseconds to come back.
constexpr double kEnoughMs = 60, kEnoughMsOfSweep = 40;
constexpr int kTries = 4;

std::vector<std::string> split(std::string_view list, char by) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(by), list.size());
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

struct Shape {
  uint32_t rows = 0;
  uint32_t cols = 0;
};

struct Options {
  std::vector<quant::Type> types;
  std::vector<Shape> shapes = {{4096, 4096}, {14336, 4096}, {4096, 14336}, {128256, 4096}};
  std::vector<uint32_t> rows = {1, 512};
  Numerics numerics = Numerics::kFast;
  bool sweep = false;
  std::vector<MatrixTuning> tiles;
  size_t adapter = 0;
};

[[noreturn]] void usage(std::string_view what) {
  fmt::print(stderr, "error: {} (see the top of matmul_bench.cpp)\n", what);
  std::exit(2);
}

MatrixTuning parse_tile(std::string_view text) {
  std::vector<uint32_t> numbers;
  for (const std::string& part : split(text, '-')) {
    for (const std::string& n : split(part, 'x'))
      numbers.push_back(static_cast<uint32_t>(std::strtoul(n.c_str(), nullptr, 10)));
  }
  if (numbers.size() != 8 || std::ranges::count(numbers, 0u) > 0)
    usage(fmt::format("{} is no tile like 1x4x2-2x2-2-1-2", text));
  return {numbers[0], numbers[1], numbers[2], numbers[3],
          numbers[4], numbers[5], numbers[6], numbers[7]};
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 >= argc) usage(fmt::format("{} needs a value", arg));
      return argv[++i];
    };
    if (arg == "--types") {
      for (const std::string& name : split(value(), ',')) {
        const quant::TypeInfo* type = quant::find(name);
        if (type == nullptr) usage(fmt::format("unknown type {}", name));
        options.types.push_back(type->type);
      }
    } else if (arg == "--shapes") {
      options.shapes.clear();
      for (const std::string& shape : split(value(), ',')) {
        const std::vector<std::string> sides = split(shape, 'x');
        if (sides.size() != 2) usage(fmt::format("{} is no shape like 4096x4096", shape));
        options.shapes.push_back(
            {static_cast<uint32_t>(std::strtoul(sides[0].c_str(), nullptr, 10)),
             static_cast<uint32_t>(std::strtoul(sides[1].c_str(), nullptr, 10))});
      }
    } else if (arg == "--rows") {
      options.rows.clear();
      for (const std::string& n : split(value(), ',')) {
        options.rows.push_back(static_cast<uint32_t>(std::strtoul(n.c_str(), nullptr, 10)));
      }
    } else if (arg == "--numerics") {
      options.numerics = value() == "exact" ? Numerics::kExact : Numerics::kFast;
    } else if (arg == "--sweep") {
      options.sweep = true;
    } else if (arg == "--tiles") {
      for (const std::string& tile : split(value(), ',')) options.tiles.push_back(parse_tile(tile));
    } else if (arg == "--adapter") {
      options.adapter = std::strtoul(std::string(value()).c_str(), nullptr, 10);
    } else {
      usage(fmt::format("unknown option {}", arg));
    }
  }
  if (options.types.empty()) {
    for (const quant::TypeInfo& type : quant::types()) options.types.push_back(type.type);
  }
  return options;
}

struct Candidate {
  std::string name;
  MatmulTuning tuning;
  bool x_ready = false;  // x has its int8 or f16 form already: the product alone
};

std::string name_of(const MatmulTuning& tuning) {
  if (tuning.kernel == MatmulKernel::kGemm) {
    const GemmTuning& t = tuning.gemm;
    return fmt::format("gemm rows {} teams {} step {} sets {}", t.rows, t.teams, t.step_units,
                       t.sets);
  }
  if (tuning.kernel == MatmulKernel::kMatrix) {
    const MatrixTuning& t = tuning.matrix;
    return fmt::format("matrix subgroups {}x{}x{} fragments {}x{} step {} splits {} ahead {}",
                       t.subgroups_m, t.subgroups_n, t.subgroups_k, t.fragments_m, t.fragments_n,
                       t.step_units, t.n_splits, t.steps_ahead);
  }
  const MatvecTuning& m = tuning.matvec;
  return fmt::format("matvec wg {} lanes {} groups {} columns {}{}{}", m.workgroup, m.lanes,
                     m.groups, m.columns, m.prefetch ? " prefetch" : "", m.own_int8 ? " own" : "");
}

std::vector<Candidate> candidates(const gpu::DeviceInfo& device, const MatmulArgs& args, bool sweep,
                                  std::span<const MatrixTuning> tiles) {
  const bool floats = quant::info(args.weight.type).block_elements == 1;
  const bool int8 = args.numerics == Numerics::kFast && !floats;
  std::vector<Candidate> out;
  const auto add = [&](const MatmulTuning& tuning) {
    const bool matrix = tuning.kernel == MatmulKernel::kMatrix;
    const bool own = tuning.kernel == MatmulKernel::kMatvec && tuning.matvec.own_int8;
    const bool prepares = matrix || (int8 && !own);
    if (!sweep || !prepares)
      out.push_back({name_of(tuning) + (prepares ? " + x" : ""), tuning, false});
    if (prepares) out.push_back({name_of(tuning), tuning, true});
  };
  MatmulTuning tuning = default_tuning(device, args);
  add(tuning);
  for (Candidate& candidate : out) candidate.name += " (default)";
  for (const MatrixTuning& tile : tiles) {
    MatmulTuning named = tuning;
    named.kernel = MatmulKernel::kMatrix;
    named.matrix = tile;
    if (tuning_fits(device, args, named)) add(named);
  }
  if (!sweep) return out;
  // Few rows: all of them in a tile, which many sets of subgroups share along K.
  if (args.max_rows <= 128 && !matrix_tiles(device, args).empty()) {
    const uint32_t m = (args.max_rows + device.matrix.m - 1) / device.matrix.m;
    MatmulTuning few = tuning;
    few.kernel = MatmulKernel::kMatrix;
    for (const uint32_t subgroups_m : {1u, 2u, 4u}) {
      if (m % subgroups_m != 0 || m / subgroups_m > 4) continue;
      for (const auto& [subgroups_n, fragments_n] :
           {std::array{1u, 1u}, {1u, 2u}, {1u, 4u}, {2u, 1u}, {2u, 2u}, {4u, 1u}, {4u, 2u}}) {
        for (const uint32_t subgroups_k : {1u, 2u, 4u, 8u}) {
          for (const uint32_t step_units : {2u, 4u}) {
            for (const uint32_t n_splits : {1u, 4u}) {
              for (const uint32_t steps_ahead : {1u, 2u}) {
                few.matrix = {subgroups_m, subgroups_n, subgroups_k, m / subgroups_m,
                              fragments_n, step_units,  n_splits,    steps_ahead};
                const uint32_t subgroups = subgroups_m * subgroups_n * subgroups_k;
                if (subgroups >= 4 && tuning_fits(device, args, few)) add(few);
              }
            }
          }
        }
      }
    }
  }
  if (tuning.kernel == MatmulKernel::kMatrix) {
    // Subgroups by fragments; one or two sets of subgroups along K.
    for (const auto& [subgroups_m, subgroups_n, fragments_m, fragments_n] :
         {std::array{2u, 2u, 4u, 4u},
          {2u, 4u, 4u, 4u},
          {4u, 2u, 4u, 4u},
          {4u, 2u, 2u, 4u},
          {2u, 2u, 4u, 2u},
          {2u, 2u, 2u, 2u}}) {
      for (uint32_t subgroups_k : {1u, 2u}) {
        for (uint32_t step_units : {1u, 2u}) {
          tuning.matrix = {subgroups_m, subgroups_n, subgroups_k,
                           fragments_m, fragments_n, step_units};
          if (tuning_fits(device, args, tuning)) add(tuning);
        }
      }
    }
    return out;
  }
  if (args.max_rows > 16) {
    for (uint32_t rows : {4u, 8u}) {
      for (uint32_t step_units : {1u, 2u, 4u}) {
        if (!int8 && step_units > 1) continue;
        for (uint32_t teams : {8u, 16u}) {
          for (uint32_t sets : {1u, 2u, 4u}) {
            if (!int8 && teams * sets > 8) continue;
            tuning.gemm = {rows, teams, step_units, sets};
            if (tuning_fits(device, args, tuning)) add(tuning);
          }
        }
      }
    }
    return out;
  }
  for (uint32_t workgroup : {64u, 128u, 256u}) {
    for (uint32_t lanes = 32; lanes <= workgroup; lanes *= 2) {
      for (uint32_t groups : {1u, 2u, 4u}) {
        for (bool prefetch : {false, true}) {
          for (bool own : {false, true}) {
            if (own && !int8) continue;
            if (prefetch && !int8 && !floats) continue;
            if ((own && args.max_rows > 1) || (prefetch && groups > 1)) continue;
            tuning.matvec = {workgroup, lanes, groups, tuning.matvec.columns, prefetch, own};
            add(tuning);
          }
        }
      }
    }
  }
  return out;
}

void measure(bench::GpuBench& gpu, const Options& options, quant::Type type, const Shape& shape,
             uint32_t n_rows) {
  const quant::PlaneLayout layout = quant::plane_layout(type, shape.rows, shape.cols);
  if (layout.bytes > gpu.info().limits.max_binding_bytes) {
    fmt::print("{} {}x{}: one binding cannot hold it\n", quant::info(type).name, shape.rows,
               shape.cols);
    return;
  }
  const size_t before = gpu.n_buffers();
  const auto buffer = [&](uint64_t bytes) {
    return gpu.buffer(bytes, bench::GpuBench::kCodesAndScales);
  };
  std::vector<Slice> copies;
  const uint64_t cold = gpu.info().type == gpu::AdapterType::kSoftware ? 1 : kColdBytes;
  for (uint64_t bytes = 0; bytes < cold; bytes += layout.bytes)
    copies.push_back(buffer(layout.bytes));

  MatmulArgs args;
  args.label = "product";
  args.weight = {type, shape.rows, shape.cols, {{copies[0], 0, shape.rows}}};
  args.max_rows = n_rows;
  args.numerics = options.numerics;
  args.y_stride = shape.rows;
  std::vector<uint32_t> step(kStepWords);
  step[kStepTokenCount] = step[kStepOutputCount] = n_rows;
  args.step = gpu.upload(step);
  args.x = buffer(uint64_t{n_rows} * shape.cols * 4);
  args.y = buffer(uint64_t{n_rows} * shape.rows * 4);
  MatmulTuning any = default_tuning(gpu.info(), args);
  any.matvec.own_int8 = false;
  MatmulTuning matrix = any;
  matrix.matrix.n_splits = 16;
  matrix.kernel = MatmulKernel::kMatrix;
  args.scratch = buffer(std::max({uint64_t{256}, matmul_scratch_bytes(gpu.info(), args, any),
                                  matmul_scratch_bytes(gpu.info(), args, matrix)}));

  double best = 1e30;
  std::string best_name;
  for (const Candidate& candidate : candidates(gpu.info(), args, options.sweep, options.tiles)) {
    const auto record = [&](gpu::CommandList& list) {
      for (const Slice& copy : copies) {
        MatmulArgs one = args;
        one.weight.chunks[0].slice = copy;
        one.x_in_scratch = candidate.x_ready;
        std::vector<KernelCall> calls;
        const auto described = matmul_tuned(gpu.info(), one, candidate.tuning, calls);
        if (!described || !gpu.record(calls, {.n_tokens = n_rows, .n_outputs = n_rows}, list))
          return false;
      }
      return true;
    };
    gpu::CommandList list;
    if (!record(list)) continue;
    const double us = gpu.pass_us(list, options.sweep ? kEnoughMsOfSweep : kEnoughMs, kTries) /
                      static_cast<double>(copies.size());
    gpu.drop_groups();
    const double flops = 2.0 * n_rows * shape.rows * shape.cols;
    fmt::print("{:5} {:>6}x{:<6} rows {:<4} {:8.1f} us {:8.1f} GB/s {:7.2f} TFLOPS  {}\n",
               quant::info(type).name, shape.rows, shape.cols, n_rows, us,
               static_cast<double>(layout.bytes) / us / 1e3, flops / us / 1e6, candidate.name);
    if (us < best) {
      best = us;
      best_name = candidate.name;
    }
  }
  if (options.sweep) fmt::print("  best: {}\n", best_name);
  std::fflush(stdout);
  gpu.drop_buffers(before);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto adapters = bench::must(gpu::native::adapters());
  for (size_t i = 0; i < adapters.size(); ++i) {
    fmt::print("adapter {}: {} ({})\n", i, adapters[i].info.name, adapters[i].info.driver);
  }
  if (options.adapter >= adapters.size())
    usage(fmt::format("there is no adapter {}", options.adapter));
  bench::GpuBench gpu(options.adapter);
  for (quant::Type type : options.types) {
    for (const Shape& shape : options.shapes) {
      for (uint32_t rows : options.rows) measure(gpu, options, type, shape, rows);
    }
  }
  return 0;
}
