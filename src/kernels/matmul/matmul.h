// Matrix product with a weight: v[t, r] = scale * (sum_k x[t, k] * W[r, k] + bias[r]), then an
// epilogue gives y of v.
//   W  [rows, cols]          any weight type
//   bias  [rows]             f32, or none; gated epilogues take none on the GPU
//   x  [n_rows, cols]        f32
//   y  [n_rows, y_stride]    f32, written at columns y_column .. y_column + rows (rows / 2 for
//   gated epilogues)
// Numerics: exact keeps f32 activations and accumulates in f32; fast may quantize x to int8 per 32
// columns. One row runs as a mat-vec, 2 to 16 as a small-batch mat-vec, more as a tiled GEMM:
// max_rows picks at plan time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/activation.h"
#include "kernels/common/call.h"
#include "kernels/common/weight.h"
#include "kernels/common/x16.h"
#include "kernels/matmul/cpu_matrix.h"

namespace puna::kernels {

enum class Epilogue : uint8_t {
  kStore,
  kAdd,     // y += v (y already holds the residual)
  kSwiGlu,  // rows come in 4-row groups gate, up, gate, up ...: y = silu(gate) * up
  kGeGlu,   // the same with the tanh form of GELU (Hendrycks and Gimpel 2016)
  // The same with g = min(gate, 7), u = clamp(up, -7, 7): y = g * sigmoid(1.702 g) * (u + 1)
  // (gpt-oss model card, 2025).
  kSwiGluClamped,
  kSoftcap,   // y = cap * tanh(v / cap)
  kActivate,  // y = activation(v)
};

inline bool is_gated(Epilogue epilogue) {
  return epilogue == Epilogue::kSwiGlu || epilogue == Epilogue::kGeGlu ||
         epilogue == Epilogue::kSwiGluClamped;
}

// x = rms_norm(input) * gamma, made by the product itself (norm/norm.h).
struct MatmulNorm {
  Slice input;  // [n_rows, cols] f32
  Slice gamma;  // [cols] f32
  float eps = 1e-6f;
};

struct Profile;

// Several matrices of equal size in one weight, one after the other: a layer's experts or the heads
// of a product by heads. A row goes through n_slots of them, and row * n_slots + slot is a pair. y
// has a row for each pair, y_stride apart, unless the slots of a row are summed.
struct MatmulParts {
  uint32_t n_parts = 0;
  uint32_t n_slots = 0;
  // Which parts, by moe/route.h; gated results are multiplied by their weights. Without: slot s
  // takes part s, and n_slots is n_parts.
  std::optional<Slice> routes = {};
  // The routes' pairs sorted by part, of moe/moe.h; of more than kMatvecRows rows.
  std::optional<Slice> groups = {};
  bool x_of_pairs = false;  // x has a row for each pair, not for each row
  bool sums = false;        // of x_of_pairs and routes, up to kMatvecRows rows
  // [n_parts * rows of one] f32, with routes and gated or summed. A sum takes each bias by its
  // weight.
  std::optional<Slice> bias = {};
};

// What a product reads: x as it is (or makes of it itself), or a form that a call before it leaves.
enum class XForm : uint8_t { kPlain, kInt8, kF16, kBf16 };

// What a product leaves for those after it, in the form that they read, so that none of them has to
// make it: y itself, which a gated product then does not store, or, where a norm lies between,
// y * gamma beside y, with the squares of y. The inverse root mean square commutes with products:
// each reader takes it from the squares.
struct Handover {
  Slice x;                     // of matmul_handover_bytes()
  XForm form = XForm::kInt8;   // kInt8, or kPlain after a norm
  std::optional<Slice> gamma;  // of the norm
};
// x is what a product before left.
struct HandedX {
  XForm form = XForm::kInt8;
  std::optional<float> norm_eps;  // of the norm between
};

struct MatmulArgs {
  std::string label;
  GpuWeight weight;
  Slice step;
  Slice x;
  Slice y;
  uint32_t y_stride = 0;
  uint32_t y_column = 0;
  std::optional<Slice> bias;
  float scale = 1.0f;
  Epilogue epilogue = Epilogue::kStore;
  float softcap = 0.0f;
  Activation activation = Activation::kSilu;  // of kActivate
  Numerics numerics = Numerics::kExact;
  std::optional<MatmulParts> parts = {};
  uint32_t x_stride = 0;  // elements from row to row of x; 0 = cols
  uint32_t max_rows = 1;  // rows of the batch class: 1, 2, 4, 8, 16 or up to kMaxStepRows
  Rows rows = Rows::kTokens;
  // 2: a mat-vec that reads x as int8 adds a second plane of int8, of what the rounding left (15
  // bits in all). Products in tiles have more rows, and read one plane.
  uint32_t x_planes = 1;
  const Profile* profile = nullptr;  // of the device (profile/profile.h)
  // Instead of reading x; only where matmul_makes_norm() says so.
  std::optional<MatmulNorm> norm;
  Slice scratch;              // of matmul_scratch_bytes(); unused when that is 0
  bool x_in_scratch = false;  // scratch already holds this x in its XForm from the call before (q,
                              // k and v of mixed types)
  std::optional<HandedX> handed;  // only in a form that matmul_takes() names
  std::optional<Handover> hands;  // only what matmul_hands() allows
};
// The form that a call before leaves in scratch; products with one x share it when they read the
// same.
XForm matmul_x_form(const gpu::DeviceInfo& device, const MatmulArgs& args);
// Where that lies when it is kF16.
X16 matmul_x16(const MatmulArgs& args);
// Bytes of scratch the call needs (int8 activations, split-K partials); 0 when none.
uint64_t matmul_scratch_bytes(const gpu::DeviceInfo& device, const MatmulArgs& args);
// Rows of a tile of products by routed parts, which MatmulParts::groups is made for.
uint32_t matmul_tile_rows(uint32_t max_rows, uint32_t n_parts, uint32_t n_slots);
constexpr uint32_t kMatvecRows = 16;  // batch classes above it run in tiles
// Whether the product of these arguments can make its x from a norm's input (args.norm is ignored).
bool matmul_makes_norm(const gpu::DeviceInfo& device, const MatmulArgs& args);
// The form in which the product can take x from a product before, through a norm or not.
std::optional<XForm> matmul_takes(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                  bool normed);
// Whether the product can leave its result in this form.
bool matmul_hands(const gpu::DeviceInfo& device, const MatmulArgs& args, XForm form, bool normed);
uint64_t matmul_handover_bytes(uint32_t cols, uint32_t max_rows, XForm form);
base::Result<void> matmul(const gpu::DeviceInfo& device, const MatmulArgs& args,
                          std::vector<KernelCall>& out);

// The CPU form. y may not overlap x. scratch holds at least matmul_cpu_scratch_bytes(), 64-byte
// aligned.
struct MatmulCpuArgs {
  const CpuMatrix* weight = nullptr;
  // The part of the weight that counts: n_weight_rows (0 = all) from first_row on, which is a
  // multiple of CpuMatrix::kRowGroup.
  uint32_t first_row = 0;
  uint32_t n_weight_rows = 0;
  const float* x = nullptr;  // [n_rows, cols]
  uint32_t x_stride = 0;     // elements from row to row of x; 0 = cols
  float* y = nullptr;        // [n_rows, y_stride]
  uint32_t n_rows = 0;
  uint32_t y_stride = 0;
  uint32_t y_column = 0;
  const float* bias = nullptr;  // [rows], or null
  float scale = 1.0f;
  Epilogue epilogue = Epilogue::kStore;
  float softcap = 0.0f;
  Activation activation = Activation::kSilu;
  // 2: where x is read as int8, a second plane of int8 keeps what the rounding left (15 bits in
  // all), at the price of twice the products. scratch is then that of twice the rows.
  uint32_t x_planes = 1;
  std::byte* scratch = nullptr;
  bool x_in_scratch = false;
};
// The form of x that a product leaves in scratch: kPlain is none.
XForm matmul_cpu_x_form(quant::Type type, Numerics numerics, uint32_t n_rows);
uint64_t matmul_cpu_scratch_bytes(uint32_t cols, uint32_t max_rows);
// After a product of int8 activations that stores or caps: of each row those of y that lie no more
// than `within` below the largest, `at_most` of them, once more, with x as it is (f32).
void matmul_top_cpu(base::ThreadPool& pool, const MatmulCpuArgs& args, float within,
                    uint32_t at_most);
// Rows that fill up those of a product in scratch, at most.
constexpr uint32_t kMatmulCpuExtraRows = 15;
void matmul_cpu(base::ThreadPool& pool, const MatmulCpuArgs& args);
// Several products at once, so that small ones fill the threads together. Scratch is of each, or
// shared by neighbours, all but the first of which say x_in_scratch.
void matmul_cpu(base::ThreadPool& pool, std::span<const MatmulCpuArgs> products);

}  // namespace puna::kernels
