// Images in another size: x [n_outer, height, width, n_inner] -> y [n_outer, out_h, out_w, n_inner]
// f32. Planes have their channels (and images) in n_outer, pixels in n_inner. A pixel shuffle is a
// copy (copy.h).
//
// resize: along each axis output i looks at the place (i + 1/2) * n / out - 1/2 of the input, or,
// with its corners aligned, at i * (n - 1) / (out - 1). kNearest takes floor(i * n / out), whatever
// the corners; kLinear the two neighbours of the place; kCubic the four, by Keys' kernel with a =
// -3/4 (Keys 1981, equation 4). Beyond the edge lies the edge. As torch's interpolate without
// antialias. pad: y is x with top and left rows and columns before it, and what is left of out_h
// and out_w after it.
#pragma once

#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

struct ImageShape {
  uint32_t n_outer = 1, height = 0, width = 0, n_inner = 1;
  uint32_t out_h = 0, out_w = 0;
  uint64_t x_elements() const { return uint64_t{n_outer} * height * width * n_inner; }
  uint64_t y_elements() const { return uint64_t{n_outer} * out_h * out_w * n_inner; }
};

enum class Resize : uint8_t { kNearest, kLinear, kCubic };
std::string_view name(Resize resize);

struct ResizeShape {
  ImageShape image = {};
  Resize how = Resize::kNearest;
  bool align_corners = false;
};
struct ResizeArgs {
  std::string label;
  Slice x = {}, y = {};
  ResizeShape shape = {};
};
// Errors, of both: kInvalidArgument for images of nothing; kUnsupported for sides above 16384, or
// more elements than 32 bits count.
base::Result<void> resize(const gpu::DeviceInfo& device, const ResizeArgs& args,
                          std::vector<KernelCall>& out);

enum class Pad : uint8_t {
  kValue,    // one number
  kEdge,     // the nearest pixel
  kReflect,  // mirrored at the edge pixel, which is not repeated
  kWrap,     // the other side
};
std::string_view name(Pad pad);

struct PadShape {
  ImageShape image = {};
  uint32_t top = 0, left = 0;
  Pad how = Pad::kValue;
  float value = 0.0f;
};
struct PadArgs {
  std::string label;
  Slice x = {}, y = {};
  PadShape shape = {};
};
// Errors: kInvalidArgument also when x does not fit into y, or kReflect and kWrap want more than
// the image has.
base::Result<void> pad(const gpu::DeviceInfo& device, const PadArgs& args,
                       std::vector<KernelCall>& out);

struct ResizeCpuArgs {
  const float* x = nullptr;
  float* y = nullptr;
  ResizeShape shape = {};
};
void resize_cpu(base::ThreadPool& pool, const ResizeCpuArgs& args);

struct PadCpuArgs {
  const float* x = nullptr;
  float* y = nullptr;
  PadShape shape = {};
};
void pad_cpu(base::ThreadPool& pool, const PadCpuArgs& args);

}  // namespace puna::kernels
