// Experts on the CPU: rows are sorted by expert, then each expert is an ordinary product over its
// rows, all experts in one go so that they fill the threads together.
#include <algorithm>
#include <cstring>
#include <functional>

#include "base/check.h"
#include "kernels/moe/moe.h"

namespace puna::kernels {
namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// A pair is a row and one of its experts: row * n_chosen + slot. Where things lie in the scratch.
struct Scratch {
  uint32_t* experts;   // [pair]
  float* weights;      // [pair]
  uint32_t* place_of;  // [pair], its place among all, sorted by expert
  uint32_t* ends;      // [n_experts], of each expert's places
  float* wide;         // [place][hidden]: rows of x, later the results
  float* h;            // [place][ffn]
  std::byte* bytes;    // int8 forms of one side, by expert
  uint64_t total;
};

// The most bytes that int8 forms of `places` rows take together when they are cut by expert.
uint64_t int8_bytes(uint32_t cols, uint32_t places, uint32_t n_experts) {
  const uint32_t parts = std::min(places, n_experts);
  return matmul_cpu_scratch_bytes(cols, places + kMatmulCpuExtraRows * parts) +
         uint64_t{parts} * 256;
}

Scratch lay_out(const MoeShape& shape, uint32_t n_rows, std::byte* base) {
  const uint32_t n_pairs = n_rows * shape.route.n_chosen;
  uint64_t used = 0;
  const auto take = [&](uint64_t bytes) {
    const uint64_t at = used;
    used += aligned(bytes);
    return base ? base + at : nullptr;
  };
  Scratch s{};
  s.experts = reinterpret_cast<uint32_t*>(take(uint64_t{n_pairs} * 4));
  s.weights = reinterpret_cast<float*>(take(uint64_t{n_pairs} * 4));
  s.place_of = reinterpret_cast<uint32_t*>(take(uint64_t{n_pairs} * 4));
  s.ends = reinterpret_cast<uint32_t*>(take(uint64_t{shape.route.n_experts} * 4));
  s.wide = reinterpret_cast<float*>(take(uint64_t{n_pairs} * shape.hidden * 4));
  s.h = reinterpret_cast<float*>(take(uint64_t{n_pairs} * shape.ffn * 4));
  s.bytes = take(std::max(int8_bytes(shape.hidden, n_pairs, shape.route.n_experts),
                          int8_bytes(shape.ffn, n_pairs, shape.route.n_experts)));
  s.total = used;
  return s;
}

void sort_pairs(const MoeShape& shape, uint32_t n_pairs, const Scratch& s) {
  std::fill_n(s.ends, shape.route.n_experts, 0u);
  for (uint32_t p = 0; p < n_pairs; ++p) ++s.ends[s.experts[p]];
  uint32_t sum = 0;
  for (uint32_t e = 0; e < shape.route.n_experts; ++e) {
    const uint32_t n = s.ends[e];
    s.ends[e] = sum;  // the begin, which the loop below moves to the end
    sum += n;
  }
  for (uint32_t p = 0; p < n_pairs; ++p) s.place_of[p] = s.ends[s.experts[p]]++;
}

// The products of all chosen experts with one of the two weights.
//   x  [place, cols], or one row for all;  y  [place, n_out]
void multiply(base::ThreadPool& pool, const MoeCpuArgs& args, const CpuMatrix& weight,
              const float* bias, Epilogue epilogue, const float* x, bool one_x, float* y,
              uint32_t n_out, const Scratch& s) {
  const uint32_t n_experts = args.shape.route.n_experts;
  const uint32_t rows = weight.rows() / n_experts;
  std::vector<MatmulCpuArgs> products;
  std::byte* scratch = s.bytes;
  for (uint32_t e = 0; e < n_experts; ++e) {
    const uint32_t first = e == 0 ? 0 : s.ends[e - 1];
    if (first == s.ends[e]) continue;
    MatmulCpuArgs product;
    product.weight = &weight;
    product.first_row = e * rows;
    product.n_weight_rows = rows;
    product.n_rows = s.ends[e] - first;
    product.x = one_x ? x : x + size_t{first} * weight.cols();
    product.y = y + size_t{first} * n_out;
    product.y_stride = n_out;
    product.bias = bias ? bias + size_t{e} * rows : nullptr;
    product.epilogue = epilogue;
    product.activation = Activation::kGeluErf;
    product.scratch = scratch;
    product.x_in_scratch = one_x && !products.empty();
    if (!one_x) scratch += aligned(matmul_cpu_scratch_bytes(weight.cols(), product.n_rows));
    products.push_back(product);
  }
  matmul_cpu(pool, products);
}

// y (+)= the experts' results by their weights.
void combine_row(const MoeCpuArgs& args, const Scratch& s, uint32_t row) {
  const uint32_t hidden = args.shape.hidden;
  float* y = args.y + size_t{row} * hidden;
  if (!args.adds) std::fill_n(y, hidden, 0.0f);
  for (uint32_t slot = 0; slot < args.shape.route.n_chosen; ++slot) {
    const uint32_t pair = row * args.shape.route.n_chosen + slot;
    const float* part = s.wide + size_t{s.place_of[pair]} * hidden;
    const float weight = s.weights[pair];
    for (uint32_t i = 0; i < hidden; ++i) y[i] += weight * part[i];
  }
}

}  // namespace

uint64_t moe_cpu_scratch_bytes(const MoeShape& shape, uint32_t max_rows) {
  return lay_out(shape, max_rows, nullptr).total;
}

void moe_cpu(base::ThreadPool& pool, const MoeCpuArgs& args) {
  const MoeShape& shape = args.shape;
  const uint32_t n_chosen = shape.route.n_chosen;
  const uint32_t n_pairs = args.n_rows * n_chosen;
  const Scratch s = lay_out(shape, args.n_rows, args.scratch);
  RouteCpuArgs route;
  route.logits = args.logits;
  route.selection_bias = args.selection_bias;
  route.experts = s.experts;
  route.weights = s.weights;
  route.n_rows = args.n_rows;
  route.params = shape.route;
  route_cpu(pool, route);
  sort_pairs(shape, n_pairs, s);

  const bool one_x = args.n_rows == 1;
  const auto gather = [&](uint32_t begin, uint32_t end) {
    for (uint32_t p = begin; p < end; ++p) {
      std::memcpy(s.wide + size_t{s.place_of[p]} * shape.hidden,
                  args.x + size_t{p / n_chosen} * shape.hidden, size_t{shape.hidden} * 4);
    }
  };
  if (!one_x) pool.run(n_pairs, 16, std::ref(gather));
  multiply(pool, args, *args.gate_up, args.gate_up_bias, shape.gate, one_x ? args.x : s.wide, one_x,
           s.h, shape.ffn, s);
  multiply(pool, args, *args.down, args.down_bias, Epilogue::kStore, s.h, /*one_x=*/false, s.wide,
           shape.hidden, s);
  const auto combine = [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row) combine_row(args, s, row);
  };
  pool.run(args.n_rows, 4, std::ref(combine));
}

}  // namespace puna::kernels
