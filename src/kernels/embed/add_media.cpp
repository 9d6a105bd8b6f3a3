// Both forms of add_media.h.
#include "kernels/embed/add_media.h"

#include <functional>

#include "kernels/common/describe.h"

namespace puna::kernels {

base::Result<void> add_media(const gpu::DeviceInfo& device, const AddMediaArgs& args,
                             std::vector<KernelCall>& out) {
  constexpr uint32_t kWorkgroup = 64;
  const AddMediaShape& s = args.shape;
  const uint64_t most = uint64_t{device.limits.max_workgroups_per_dimension} * kWorkgroup;
  if (s.n == 0 || s.n > most || uint64_t{s.first} + s.n > s.columns) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("{} adds {} elements from {} on of rows of {}; 1 to {} within a row are "
                    "possible.",
                    args.label, s.n, s.first, s.columns, most));
  }
  Describe call(args.label, "embed/add_media.wgsl");
  call.constant("B_STEP", args.step).constant("B_MEDIA", args.media).arena("B_X", args.x);
  call.number("N", s.n).number("FIRST", s.first).number("COLUMNS", s.columns);
  call.number("WG", kWorkgroup);
  call.grid({Extent::kOne, div_up(s.n, kWorkgroup), 1}, {Extent::kTokens}).add_to(out);
  return {};
}

void add_media_cpu(base::ThreadPool& pool, const AddMediaCpuArgs& args) {
  const AddMediaShape& s = args.shape;
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (size_t t = begin; t < end; ++t) {
      const int64_t token = args.tokens[t];
      if (token >= 0) continue;
      const float* media = args.media + static_cast<size_t>(-1 - token) * s.columns + s.first;
      float* x = args.x + t * s.n;
      for (size_t i = 0; i < s.n; ++i) x[i] += media[i];
    }
  };
  pool.run(args.n_tokens, 16, std::ref(rows));
}

}  // namespace puna::kernels
