// Attention on the CPU: prompts in tiles of query rows, single tokens by kv head and, when heads
// alone do not fill the threads, by pieces of the keys, whose results are merged afterwards. Tiles
// add up in another order than single tokens do, so in exact numerics a single token is a tile too.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_job.h"

namespace puna::kernels {
namespace {

// A piece of keys shorter than this is not worth a merge.
constexpr uint32_t kMinSplitKeys = 2 * kPageTokens;

uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

// Floats a thread needs: transposed queries and results, a page of scores, K and V, seven
// statistics a query row.
uint64_t work_floats(uint32_t n_heads, uint32_t head_dim) {
  const uint64_t queries = std::max<uint64_t>(kTileQueries, round_up(n_heads, 16));
  return round_up(queries * (2 * head_dim + kPageTokens + 7) + 2 * kPageTokens * head_dim, 16);
}

uint64_t partial_floats(uint32_t n_threads, uint32_t n_heads, uint32_t head_dim,
                        uint32_t max_rows) {
  return uint64_t{n_heads} * (4 * n_threads + max_rows) * (head_dim + 2);
}

// Whether a row sees what the row before it sees.
bool sees_the_same(const AttentionCpuArgs& args, uint32_t t) {
  if (!args.own) return args.step.sequences[t] == args.step.sequences[t - 1];
  const KeyRange a = key_range(args, t - 1), b = key_range(args, t);
  return a.first == b.first && a.end == b.end;
}

void cut_into_tiles(AttentionJob& job) {
  const CpuStep& step = job.args.step;
  job.starts.resize(size_t{step.n_tokens} + 1);
  const uint32_t most = std::max(kTileQueries / job.group, 1u);
  for (uint32_t t = 0; t < step.n_tokens; ++t) {
    const bool joins =
        t > 0 && sees_the_same(job.args, t) && t - job.starts[job.n_tiles - 1] < most;
    if (!joins) job.starts[job.n_tiles++] = t;
  }
  job.starts[job.n_tiles] = step.n_tokens;
}

// Whether a tile is a single token and taken as such.
bool is_single(const AttentionJob& job, uint32_t tile) {
  return job.args.numerics == Numerics::kFast && !job.args.own &&
         job.starts[tile + 1] - job.starts[tile] == 1;
}
bool all_single(const AttentionJob& job) {
  return job.args.numerics == Numerics::kFast && !job.args.own &&
         job.n_tiles == job.args.step.n_tokens;
}

uint32_t choose_splits(const AttentionJob& job, uint32_t n_threads) {
  const uint32_t items = job.n_tiles * job.args.kv.n_kv_heads;
  if (!all_single(job) || n_threads == 1 || items >= 4 * n_threads) return 1;
  uint32_t longest = 0;
  for (uint32_t t = 0; t < job.args.step.n_tokens; ++t) {
    const KeyRange keys = key_range(job.args, t);
    longest = std::max(longest, keys.end - keys.first);
  }
  return std::clamp(std::min(4 * n_threads / items, longest / kMinSplitKeys), 1u, kMaxSplits);
}

// Adds up the pieces of one head of one token: results weighted by exp(their largest score - the
// largest of all).
void merge(const AttentionJob& job, uint32_t token, uint32_t head) {
  const uint32_t v_dim = job.v_dim;
  const uint64_t piece = uint64_t{job.group} * (v_dim + 2);
  const float* first =
      job.partials +
      (uint64_t{token} * job.args.kv.n_kv_heads + head / job.group) * job.n_splits * piece +
      uint64_t{head % job.group} * (v_dim + 2);
  float largest = first[0];
  for (uint32_t s = 1; s < job.n_splits; ++s) largest = std::max(largest, first[s * piece]);
  float* out = job.args.out + (uint64_t{token} * job.args.n_heads + head) * v_dim;
  std::fill(out, out + v_dim, 0.0f);
  float sum = 0;
  for (uint32_t s = 0; s < job.n_splits; ++s) {
    const float* partial = first + s * piece;
    const float weight = std::exp(partial[0] - largest);
    sum += weight * partial[1];
    for (uint32_t d = 0; d < v_dim; ++d) out[d] += weight * partial[2 + d];
  }
  for (uint32_t d = 0; d < v_dim; ++d) out[d] /= sum;
}

// Item: one kv head of one tile, or of one split of a single token. Late tiles see most keys and go
// first.
void run_item(const AttentionJob& job, uint32_t item, float* work) {
  const uint32_t n_kv = job.args.kv.n_kv_heads;
  const uint32_t split = item % job.n_splits;
  const uint32_t kv_head = item / job.n_splits % n_kv;
  const uint32_t tile = job.n_tiles - 1 - item / job.n_splits / n_kv;
  const uint32_t begin = job.starts[tile];
  if (!is_single(job, tile)) return attention_tile(job, begin, job.starts[tile + 1], kv_head, work);
  const KeyRange keys = key_range(job.args, begin);
  // Whole pages a piece, so that no two pieces convert the same page.
  const uint32_t pages = keys.end / kPageTokens - keys.first / kPageTokens + 1;
  const auto cut = [&](uint32_t s) {
    const uint32_t page =
        keys.first / kPageTokens + static_cast<uint32_t>(uint64_t{pages} * s / job.n_splits);
    return std::clamp(page * kPageTokens, keys.first, keys.end);
  };
  const uint64_t at = (uint64_t{begin} * n_kv + kv_head) * job.n_splits + split;
  float* partial = job.partials + at * job.group * (job.v_dim + 2);
  attention_row(job, begin, kv_head,
                {cut(split), split + 1 == job.n_splits ? keys.end : cut(split + 1)},
                /*is_first=*/split == 0, work, partial);
}

}  // namespace

uint64_t attention_cpu_scratch_bytes(int n_threads, uint32_t n_heads, uint32_t head_dim,
                                     uint32_t max_rows) {
  const uint32_t threads = static_cast<uint32_t>(n_threads);
  return (threads * work_floats(n_heads, head_dim) +
          partial_floats(threads, n_heads, head_dim, max_rows)) *
         sizeof(float);
}

void attention_cpu(base::ThreadPool& pool, const AttentionCpuArgs& args) {
  if (args.step.n_tokens == 0) return;
  PUNA_CHECK(args.step.n_tokens <= (args.own ? kMaxStepRows : kStepRoom) &&
             args.n_heads % args.kv.n_kv_heads == 0);
  const uint32_t n_threads = static_cast<uint32_t>(pool.n_threads());
  AttentionJob job;
  job.args = args;
  job.group = args.n_heads / args.kv.n_kv_heads;
  job.v_dim = args.v_dim != 0 ? args.v_dim : args.kv.head_dim;
  job.work_floats = work_floats(args.n_heads, args.kv.head_dim);
  job.work = reinterpret_cast<float*>(args.scratch);
  job.partials = job.work + n_threads * job.work_floats;
  cut_into_tiles(job);
  job.n_splits = choose_splits(job, n_threads);
  const auto items = [&](uint32_t begin, uint32_t end) {
    float* work = job.work + static_cast<uint32_t>(base::thread_index()) * job.work_floats;
    for (uint32_t item = begin; item < end; ++item) run_item(job, item, work);
  };
  pool.run(job.n_tiles * args.kv.n_kv_heads * job.n_splits, 1, std::ref(items));
  const auto heads = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t tile = i / args.n_heads;
      if (is_single(job, tile)) merge(job, job.starts[tile], i % args.n_heads);
    }
  };
  pool.run(job.n_tiles * args.n_heads, 64, std::ref(heads));
}

}  // namespace puna::kernels
