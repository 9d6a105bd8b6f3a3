// Embedding lookup on the CPU: rows are decoded one by one, tokens spread over the pool.
#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/embed/embed.h"

namespace puna::kernels {

void embed_cpu(base::ThreadPool& pool, const EmbedCpuArgs& args) {
  const size_t cols = args.weight->cols();
  const size_t media_columns = args.media_columns != 0 ? args.media_columns : cols;
  const auto rows = [&](uint32_t begin, uint32_t end) {
    std::vector<float> decoded(args.add ? cols : 0);
    for (uint64_t t = begin; t < end; ++t) {
      float* x = args.x + t * cols;
      const int32_t row = args.rows ? args.rows[t] : 0;
      if (row < 0 && args.media) {
        std::copy_n(args.media + media_columns * static_cast<size_t>(-1 - int64_t{row}), cols, x);
        continue;
      }
      args.weight->decode_row(static_cast<uint32_t>(std::max(row, 0)),
                              args.add ? decoded.data() : x);
      for (size_t i = 0; i < cols; ++i)
        x[i] = args.add ? x[i] + args.scale * decoded[i] : x[i] * args.scale;
    }
  };
  pool.run(args.n_tokens, 2, std::ref(rows));
}

}  // namespace puna::kernels
