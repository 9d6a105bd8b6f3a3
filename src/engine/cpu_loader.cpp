#include "engine/cpu_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/weight_reader.h"
#include "kernels/matmul/cpu_matrix.h"

namespace puna::engine {
namespace {

using base::ErrorCode;
using base::Result;
using base::Task;
using formats::ModelFile;
using kernels::CpuMatrix;

// Read and packed at a time: in the second-level cache of a core.
constexpr uint64_t kPieceBytes = 256 << 10;

// Whole row groups of one weight.
struct WeightPiece {
  plan::WeightId weight = 0;
  Piece piece;
};

class CpuLoader {
 public:
  CpuLoader(const ModelFile& file, const plan::Graph& graph, kernels::Numerics numerics,
            base::ThreadPool& pool, const LoadHooks& hooks)
      : file_(file), graph_(graph), pool_(pool), hooks_(hooks) {
    out_.numerics = numerics;
  }

  Task<Result<plan::CpuWeights>> run(bool lock) {
    PUNA_CO_TRY(place_matrices());
    if (lock) PUNA_CO_TRY(lock_all());
    for (plan::WeightId w = 0; w < graph_.weights.size(); ++w) {
      if (!in_place_[w]) add_pieces(w);
    }
    if (reads_at_once()) {
      PUNA_CO_TRY(load_together());
    } else {
      PUNA_CO_TRY(co_await load_in_turns());
    }
    for (const plan::VectorSpec& spec : graph_.vectors) {
      PUNA_CO_TRY(std::vector<float> values, co_await read_vector(file_, spec));
      out_.vectors.push_back(std::move(values));
    }
    co_return std::move(out_);
  }

 private:
  // The rows of a weight in its mapped file, when they are only looked up and in order.
  const std::byte* mapped_rows(plan::WeightId id) const {
    const plan::WeightSpec& spec = graph_.weights[id];
    if (spec.tensors.size() != 1 || spec.order != plan::RowOrder::kConcatenated) return nullptr;
    for (const plan::Op& op : graph_.ops) {
      const auto used = plan::weights(op);
      if (!std::holds_alternative<plan::EmbedOp>(op) && std::ranges::count(used, id) > 0)
        return nullptr;
    }
    const formats::Tensor& tensor = file_.tensors[spec.tensors[0]];
    const auto mapped = file_.sources[tensor.source]->mapped();
    return mapped.empty() ? nullptr : mapped.data() + static_cast<size_t>(tensor.offset);
  }

  Result<void> place_matrices() {
    uint64_t bytes = 0;
    for (plan::WeightId w = 0; w < graph_.weights.size(); ++w) {
      const plan::WeightSpec& spec = graph_.weights[w];
      in_place_.push_back(mapped_rows(w));
      if (!in_place_[w]) bytes += CpuMatrix::packed_bytes(spec.type, spec.rows, spec.columns);
    }
    PUNA_TRY_CONTEXT(out_.memory, base::Pages::allocate(bytes), "While making room for weights");
    std::byte* place = out_.memory.data();
    for (plan::WeightId w = 0; w < graph_.weights.size(); ++w) {
      const plan::WeightSpec& spec = graph_.weights[w];
      if (spec.rows == 0) {  // another part's
        out_.matrices.emplace_back();
        continue;
      }
      if (in_place_[w]) {
        out_.matrices.push_back(
            CpuMatrix::in_place(spec.type, spec.rows, spec.columns, in_place_[w]));
        continue;
      }
      PUNA_TRY_CONTEXT(CpuMatrix matrix,
                       CpuMatrix::create(spec.type, spec.rows, spec.columns, out_.numerics, place),
                       fmt::format("While making room for \"{}\"", spec.label));
      place += static_cast<size_t>(matrix.bytes());
      out_.matrices.push_back(std::move(matrix));
    }
    return {};
  }

  Result<void> lock_all() const {
    PUNA_TRY(base::lock_memory(out_.memory.data(), out_.memory.bytes()));
    for (plan::WeightId w = 0; w < graph_.weights.size(); ++w) {
      if (!in_place_[w]) continue;
      PUNA_TRY(base::lock_memory(in_place_[w], static_cast<size_t>(out_.matrices[w].bytes())));
    }
    return {};
  }

  void add_pieces(plan::WeightId id) {
    const plan::WeightSpec& spec = graph_.weights[id];
    const uint64_t row = quant::row_bytes(spec.type, spec.columns);
    const uint64_t groups = std::max<uint64_t>(kPieceBytes / (row * CpuMatrix::kRowGroup), 1);
    const auto step =
        static_cast<uint32_t>(std::min<uint64_t>(groups * CpuMatrix::kRowGroup, UINT32_MAX / 2));
    for (uint32_t first = 0; first < spec.rows; first += step) {
      const uint32_t n = std::min(step, spec.rows - first);
      pieces_.push_back({id, {first, n, 0, spec.columns}});
      total_ += n * row;
    }
  }

  bool reads_at_once() const {
    return std::ranges::all_of(file_.sources, [](const auto& s) { return s->reads_at_once(); });
  }

  Task<Result<void>> read(const WeightPiece& at, std::vector<std::byte>& bytes,
                          std::vector<std::byte>& temporary) {
    if (hooks_.cancel && hooks_.cancel->load())
      co_return base::fail(ErrorCode::kCancelled, "Loading was cancelled.");
    const plan::WeightSpec& spec = graph_.weights[at.weight];
    bytes.resize(static_cast<size_t>(at.piece.n_rows * quant::row_bytes(spec.type, spec.columns)));
    co_return co_await read_piece(file_, spec, at.piece, bytes, temporary);
  }
  void pack(const WeightPiece& at, std::span<const std::byte> bytes) {
    out_.matrices[at.weight].set_rows(at.piece.first_row, bytes);
    done_ += bytes.size();
  }

  // This thread reads some pieces, then all threads pack them.
  Task<Result<void>> load_in_turns() {
    const auto n_threads = static_cast<size_t>(pool_.n_threads());
    const size_t most = n_threads == 1 ? 1 : 4 * n_threads;
    std::vector<std::vector<std::byte>> bytes(most);
    std::vector<std::byte> temporary;
    for (size_t first = 0; first < pieces_.size(); first += most) {
      const size_t n = std::min(most, pieces_.size() - first);
      for (size_t i = 0; i < n; ++i)
        PUNA_CO_TRY(co_await read(pieces_[first + i], bytes[i], temporary));
      pool_.run(static_cast<uint32_t>(n), 1, [&](uint32_t begin, uint32_t end) {
        for (size_t i = begin; i < end; ++i) pack(pieces_[first + i], bytes[i]);
      });
      if (hooks_.on_progress) hooks_.on_progress(done_, total_);
    }
    co_return {};
  }

  // All threads take pieces; the first error is kept. Progress is reported by this thread alone.
  Result<void> load_together() {
    const std::thread::id reporter = std::this_thread::get_id();
    std::mutex mutex;
    std::optional<base::Error> error;
    std::atomic<bool> failed = false;
    const auto load_some = [&](uint32_t begin, uint32_t end) {
      std::vector<std::byte> bytes, temporary;
      for (uint32_t i = begin; i < end && !failed; ++i) {
        auto done = base::run_until(read(pieces_[i], bytes, temporary), [] {});
        if (done) pack(pieces_[i], bytes);
        if (!done) {
          const std::lock_guard lock(mutex);
          if (!failed.exchange(true)) error = std::move(done.error());
        } else if (hooks_.on_progress && std::this_thread::get_id() == reporter) {
          hooks_.on_progress(done_, total_);
        }
      }
    };
    pool_.run(static_cast<uint32_t>(pieces_.size()), 1, std::ref(load_some));
    if (error) return std::unexpected(*std::move(error));
    if (hooks_.on_progress) hooks_.on_progress(done_, total_);
    return {};
  }

  const ModelFile& file_;
  const plan::Graph& graph_;

  base::ThreadPool& pool_;
  const LoadHooks& hooks_;
  plan::CpuWeights out_;
  std::vector<const std::byte*> in_place_;  // by WeightId; null: packed
  std::vector<WeightPiece> pieces_;
  std::atomic<uint64_t> done_ = 0;
  uint64_t total_ = 0;
};

}  // namespace

Task<Result<plan::CpuWeights>> load_cpu_weights(const ModelFile& file, const plan::Graph& graph,
                                                kernels::Numerics numerics, bool lock,
                                                base::ThreadPool& pool, const LoadHooks& hooks) {
  CpuLoader loader(file, graph, numerics, pool, hooks);
  co_return co_await loader.run(lock);
}

Task<Result<std::unique_ptr<plan::CpuProgram>>> load_cpu_program(
    const ModelFile& file, plan::Graph graph, const plan::CacheConfig& cache,
    const CpuOptions& options, base::ThreadPool& pool, const LoadHooks& hooks) {
  PUNA_CO_TRY(
      plan::CpuWeights weights,
      co_await load_cpu_weights(file, graph, options.numerics, options.lock_memory, pool, hooks));
  co_return plan::CpuProgram::create(std::move(graph), std::move(weights), cache, pool);
}

}  // namespace puna::engine
