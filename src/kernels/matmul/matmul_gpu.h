// The choices behind the GPU form of matmul.h: which template runs a batch class, and the numbers
// that tune it.
#pragma once

#include <string>
#include <vector>

#include "kernels/common/knob.h"
#include "kernels/matmul/matmul.h"

namespace puna::kernels {

// mat-vec: teams of `lanes` invocations along K, each over `groups` groups of four weight rows.
struct MatvecTuning {
  uint32_t workgroup = 128;
  uint32_t lanes = 32;   // a power of two that divides workgroup
  uint32_t groups = 1;   // per team; even for gated epilogues unless the teams are
  uint32_t columns = 1;  // rows of x at once
  // Weights of the next turn are requested before those of this one are used: of int8 and float
  // products.
  bool prefetch = false;
  bool own_int8 = false;  // fast, one row: the workgroup makes the int8 activations itself instead
                          // of a call before
};

// Tiles of 8 * rows by 64 outputs.
struct GemmTuning {
  uint32_t rows = 8;        // rows of x per invocation: 4 or 8
  uint32_t teams = 8;       // int8: of eight invocations, each taking eight weight rows
  uint32_t step_units = 1;  // int8: units of 32 columns of a set between barriers
  uint32_t sets = 1;        // int8: of such teams, sharing K
};

// Tiles by matrix units: subgroups * fragments * the device's MatrixShape outputs in each
// direction, in passes of whole workgroups.
struct MatrixTuning {
  uint32_t subgroups_m = 2, subgroups_n = 2;
  uint32_t subgroups_k = 1;                   // sets of those subgroups, sharing K
  uint32_t fragments_m = 4, fragments_n = 4;  // of a subgroup
  uint32_t step_units = 1;                    // units of 32 columns between barriers
  uint32_t n_splits = 1;     // workgroups that share K; a call after adds up what they leave
  uint32_t steps_ahead = 1;  // between the request of a step's operands and their use
};

enum class MatmulKernel : uint8_t { kMatvec, kGemm, kMatrix };

struct MatmulTuning {
  MatmulKernel kernel = MatmulKernel::kMatvec;
  MatvecTuning matvec = {};
  GemmTuning gemm = {};
  MatrixTuning matrix = {};
  bool int8 = true;  // fast, block types: int8 activations rather than f32
};

// The portable default for a class, within the device's limits; of args.profile only the kind of
// activations counts.
MatmulTuning default_tuning(const gpu::DeviceInfo& device, const MatmulArgs& args);
// All tiles of matrix units that the device allows for the class; none where it has none.
std::vector<MatrixTuning> matrix_tiles(const gpu::DeviceInfo& device, const MatmulArgs& args);
// A tuning as args.handed and args.hands need it.
MatmulTuning suited(const gpu::DeviceInfo& device, const MatmulArgs& args, MatmulTuning tuning);
// The default, or what args.profile has for this product, if the device can run it.
MatmulTuning chosen_tuning(const gpu::DeviceInfo& device, const MatmulArgs& args);
// Whether the device can run a tuning, by its limits and the templates' rules.
bool tuning_fits(const gpu::DeviceInfo& device, const MatmulArgs& args, const MatmulTuning& tuning);
// "matvec", "gemm", "gemm_int8" or "gemm_matrix": whose knobs a tuning turns.
std::string_view matmul_role(const MatmulArgs& args, const MatmulTuning& tuning);
std::span<const Knob<MatmulTuning>> matmul_knobs(std::string_view role);  // none of other roles
// The name of the product in a profile: "matvec q4_0 4096x4096 fast x1 gated".
std::string matmul_key(const MatmulArgs& args, std::string_view role);

// As matmul() of matmul.h, with the choice made by the caller. Errors: also kUnsupported when the
// tuning exceeds a limit.
base::Result<void> matmul_tuned(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                const MatmulTuning& tuning, std::vector<KernelCall>& out);
uint64_t matmul_scratch_bytes(const gpu::DeviceInfo& device, const MatmulArgs& args,
                              const MatmulTuning& tuning);

// Every variant that selftest and benchmarks run for a type: a name, and the arguments' fields that
// select it.
struct MatmulVariant {
  std::string name;  // "q4_0 fast x512"
  quant::Type type = quant::Type::kF32;
  Numerics numerics = Numerics::kExact;
  uint32_t max_rows = 1;
};
std::vector<MatmulVariant> matmul_variants();

}  // namespace puna::kernels
