// The knobs of matrix products and their names in a profile.
#include <fmt/format.h>

#include "kernels/matmul/matmul_gpu.h"

namespace puna::kernels {
namespace {

using T = MatmulTuning;

constexpr Knob<T> kMatvecKnobs[] = {
    make_knob<&T::matvec, &MatvecTuning::workgroup, T>("workgroup", 32, 64, 128, 256, 512, 1024),
    make_knob<&T::matvec, &MatvecTuning::lanes, T>("lanes", 16, 32, 64, 128, 256, 512),
    make_knob<&T::matvec, &MatvecTuning::groups, T>("groups", 1, 2, 4),
    make_knob<&T::matvec, &MatvecTuning::columns, T>("columns", 1, 2, 4, 8, 16),
    make_knob<&T::matvec, &MatvecTuning::prefetch, T>("prefetch", 0, 1),
};
constexpr Knob<T> kGemmKnobs[] = {
    make_knob<&T::gemm, &GemmTuning::rows, T>("rows", 4, 8),
};
constexpr Knob<T> kGemmInt8Knobs[] = {
    make_knob<&T::gemm, &GemmTuning::rows, T>("rows", 4, 8),
    make_knob<&T::gemm, &GemmTuning::teams, T>("teams", 8, 16, 32),
    make_knob<&T::gemm, &GemmTuning::step_units, T>("step_units", 1, 2, 4),
    make_knob<&T::gemm, &GemmTuning::sets, T>("sets", 1, 2, 4),
};
constexpr Knob<T> kMatrixKnobs[] = {
    make_knob<&T::matrix, &MatrixTuning::subgroups_m, T>("subgroups_m", 1, 2, 4),
    make_knob<&T::matrix, &MatrixTuning::subgroups_n, T>("subgroups_n", 1, 2, 4),
    make_knob<&T::matrix, &MatrixTuning::subgroups_k, T>("subgroups_k", 1, 2, 4, 8),
    make_knob<&T::matrix, &MatrixTuning::fragments_m, T>("fragments_m", 1, 2, 4),
    make_knob<&T::matrix, &MatrixTuning::fragments_n, T>("fragments_n", 1, 2, 4),
    make_knob<&T::matrix, &MatrixTuning::step_units, T>("step_units", 1, 2, 4, 8),
    make_knob<&T::matrix, &MatrixTuning::n_splits, T>("n_splits", 1, 2, 4, 8, 16),
    make_knob<&T::matrix, &MatrixTuning::steps_ahead, T>("steps_ahead", 1, 2, 4),
};

constexpr std::string_view kMatvec = "matvec", kGemm = "gemm", kGemmInt8 = "gemm_int8",
                           kGemmMatrix = "gemm_matrix";

}  // namespace

std::string_view matmul_role(const MatmulArgs& args, const MatmulTuning& tuning) {
  if (tuning.kernel == MatmulKernel::kMatvec) return kMatvec;
  if (tuning.kernel == MatmulKernel::kMatrix) return kGemmMatrix;
  const bool block_type = quant::info(args.weight.type).block_elements > 1;
  return tuning.int8 && args.numerics == Numerics::kFast && block_type ? kGemmInt8 : kGemm;
}

std::span<const Knob<MatmulTuning>> matmul_knobs(std::string_view role) {
  if (role == kMatvec) return kMatvecKnobs;
  if (role == kGemm) return kGemmKnobs;
  if (role == kGemmInt8) return kGemmInt8Knobs;
  if (role == kGemmMatrix) return kMatrixKnobs;
  return {};
}

std::string matmul_key(const MatmulArgs& args, std::string_view role) {
  return fmt::format("{} {} {}x{} {} x{}{}", role, quant::info(args.weight.type).name,
                     args.weight.rows, args.weight.cols,
                     args.numerics == Numerics::kExact ? "exact" : "fast", args.max_rows,
                     is_gated(args.epilogue) ? " gated" : "");
}

}  // namespace puna::kernels
