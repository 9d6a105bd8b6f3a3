#include "engine/gpu_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/reading_ahead.h"
#include "engine/weight_reader.h"
#include "kernels/repack/repack.h"
#include "kernels/rope/rope.h"
#include "plan/pipelines.h"
#include "quant/planes.h"

namespace puna::engine {
namespace {

using base::Result;
using base::Task;
using formats::ModelFile;

// Staging slots used in turn. A slot is written again only after the work that read it has run, so
// at most kStagingPieces pieces are on their way at any time.
class StagingRing {
 public:
  explicit StagingRing(gpu::Device& device) : device_(device) {}
  ~StagingRing() {
    for (Slot& slot : slots_) {
      if (slot.staged.value != 0) device_.destroy_buffer(slot.staged);
      if (slot.params.value != 0) device_.destroy_buffer(slot.params);
    }
  }
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  struct Slot {
    gpu::BufferId staged, params;
    std::optional<gpu::SubmitId> submit;
  };

  Result<void> create() {
    for (Slot& slot : slots_) {
      PUNA_TRY(slot.staged,
               device_.create_buffer(kStagingPieceBytes, gpu::BufferUse::kStorage, "staging"));
      PUNA_TRY(slot.params, device_.create_buffer(256, gpu::BufferUse::kStorage, "staging params"));
    }
    return {};
  }
  Slot& slot(size_t i) { return slots_[i]; }
  // The next slot, free to be written.
  Task<Result<size_t>> next() {
    const size_t i = turn_++ % kStagingPieces;
    if (slots_[i].submit) {
      PUNA_CO_TRY(co_await base::await_callback<Result<void>>(
          [&](gpu::WaitDone done) { device_.when_done(*slots_[i].submit, std::move(done)); }));
    }
    slots_[i].submit.reset();
    co_return i;
  }

 private:
  gpu::Device& device_;
  std::array<Slot, kStagingPieces> slots_;
  size_t turn_ = 0;
};

kernels::RepackArgs repack_args(const plan::WeightSpec& spec,
                                const kernels::GpuWeight::Chunk& chunk) {
  kernels::RepackArgs args;
  args.label = spec.label;
  args.type = spec.type;
  args.rows = chunk.n_rows;
  args.cols = spec.columns;
  args.params = {0, 0, 32};
  args.staged = {1, 0, kStagingPieceBytes};
  args.planes = {2, chunk.slice.offset, chunk.slice.bytes};
  return args;
}

// The repack kernel of one chunk, bound to each staging slot.
class ChunkRepack {
 public:
  ChunkRepack(gpu::Device& device, gpu::PipelineId pipeline, kernels::RepackArgs args)
      : device_(device), pipeline_(pipeline), args_(std::move(args)) {}
  ~ChunkRepack() {
    for (gpu::BindGroupId group : groups_) {
      if (group.value != 0) device_.destroy_bind_group(group);
    }
  }
  ChunkRepack(const ChunkRepack&) = delete;
  ChunkRepack& operator=(const ChunkRepack&) = delete;

  Result<void> bind(StagingRing& ring, gpu::BufferId planes) {
    PUNA_TRY(const kernels::KernelCall call, kernels::repack(args_));
    for (size_t i = 0; i < kStagingPieces; ++i) {
      const gpu::BufferId buffers[] = {ring.slot(i).params, ring.slot(i).staged, planes};
      std::vector<gpu::Binding> bindings;
      for (const kernels::BoundSlice& b : call.bindings) {
        bindings.push_back({buffers[b.slice.buffer], b.slice.offset, b.slice.bytes});
      }
      PUNA_TRY(groups_[i], device_.create_bind_group(pipeline_, bindings));
    }
    if (const auto grid = std::as_bytes(std::span(quant::planes_of(args_.type).grid));
        !grid.empty()) {
      const quant::PlaneLayout layout = quant::plane_layout(args_.type, args_.rows, args_.cols);
      PUNA_TRY(device_.write_buffer(planes, args_.planes.offset + layout.grid_offset_bytes, grid));
    }
    return {};
  }

  // Sends a piece (given in rows of the chunk) through slot i.
  Result<void> run(StagingRing& ring, size_t i, const kernels::RepackPiece& piece,
                   std::span<const std::byte> bytes) {
    PUNA_TRY(const auto params, kernels::repack_params(args_, piece));
    StagingRing::Slot& slot = ring.slot(i);
    PUNA_TRY(device_.write_buffer(slot.staged, 0, bytes));
    PUNA_TRY(device_.write_buffer(slot.params, 0, std::as_bytes(std::span(params))));
    list_.clear();
    list_.dispatch(pipeline_, groups_[i], kernels::repack_workgroups(piece));
    PUNA_TRY(slot.submit, device_.submit(list_));
    return {};
  }

 private:
  gpu::Device& device_;
  gpu::PipelineId pipeline_;
  kernels::RepackArgs args_;
  std::array<gpu::BindGroupId, kStagingPieces> groups_{};
  gpu::CommandList list_;
};

// The largest piece of a weight that fits a staging slot: whole row groups, or columns of one
// group.
Piece piece_size(const plan::WeightSpec& spec) {
  // Interleaved weights come in groups of 8 (4 rows of each tensor).
  const uint32_t group =
      plan::is_interleaved(spec.order) ? 2 * quant::kGroupRows : quant::kGroupRows;
  const uint64_t group_bytes = group * quant::row_bytes(spec.type, spec.columns);
  if (group_bytes <= kStagingPieceBytes) {
    const uint64_t rows = kStagingPieceBytes / group_bytes * group;
    return {
        0, static_cast<uint32_t>(std::min<uint64_t>(rows, (spec.rows + group - 1) / group * group)),
        0, spec.columns};
  }
  const uint32_t block = std::max(quant::info(spec.type).block_elements, quant::kUnit);
  const uint64_t columns =
      kStagingPieceBytes / (group * quant::row_bytes(spec.type, block)) * block;
  return {0, group, 0, static_cast<uint32_t>(columns)};
}

class Loader {
 public:
  Loader(const ModelFile& file, const plan::Graph& graph, plan::GpuProgram& program,
         gpu::Device& device, const LoadHooks& hooks)
      : file_(file),
        graph_(graph),
        program_(program),
        device_(device),
        hooks_(hooks),
        ring_(device),
        pipelines_(device) {}

  Task<Result<void>> run() {
    std::vector<const plan::WeightSpec*> weights;
    for (const plan::WeightSpec& spec : graph_.weights) weights.push_back(&spec);
    ahead_.emplace(file_, std::move(weights));
    PUNA_CO_TRY(ring_.create());
    PUNA_CO_TRY(compile());
    PUNA_CO_TRY(program_.compile());
    PUNA_CO_TRY(const std::vector<gpu::PipelineId> pipelines, co_await pipelines_.all());
    size_t n = 0;
    for (size_t w = 0; w < graph_.weights.size(); ++w) {
      const plan::WeightSpec& spec = graph_.weights[w];
      for (const kernels::GpuWeight::Chunk& chunk : program_.plan().weights[w].chunks) {
        PUNA_CO_TRY_CONTEXT(co_await load_chunk(spec, chunk, pipelines[pipeline_of_chunk_[n++]]),
                            fmt::format("While loading \"{}\"", spec.label));
      }
    }
    PUNA_CO_TRY(co_await load_constants());
    co_return co_await program_.compiled();
  }

 private:
  // Begins with the kernels that repack the weights.
  Result<void> compile() {
    for (size_t w = 0; w < graph_.weights.size(); ++w) {
      const plan::WeightSpec& spec = graph_.weights[w];
      total_ += spec.rows * quant::row_bytes(spec.type, spec.columns);
      for (const kernels::GpuWeight::Chunk& chunk : program_.plan().weights[w].chunks) {
        PUNA_TRY(const kernels::KernelCall call, kernels::repack(repack_args(spec, chunk)));
        PUNA_TRY(const size_t pipeline, pipelines_.add(call));
        pipeline_of_chunk_.push_back(pipeline);
      }
    }
    return {};
  }

  Task<Result<void>> load_chunk(const plan::WeightSpec& spec,
                                const kernels::GpuWeight::Chunk& chunk, gpu::PipelineId pipeline) {
    ChunkRepack repack(device_, pipeline, repack_args(spec, chunk));
    PUNA_CO_TRY(repack.bind(ring_, program_.buffer(chunk.slice)));
    const Piece size = piece_size(spec);
    for (uint32_t row = 0; row < chunk.n_rows; row += size.n_rows) {
      for (uint32_t column = 0; column < spec.columns; column += size.n_columns) {
        if (hooks_.cancel && hooks_.cancel->load()) {
          co_return base::fail(base::ErrorCode::kCancelled, "Loading was cancelled.");
        }
        const Piece piece{chunk.first_row + row, std::min(size.n_rows, chunk.n_rows - row), column,
                          std::min(size.n_columns, spec.columns - column)};
        const auto bytes =
            static_cast<size_t>(piece.n_rows * quant::row_bytes(spec.type, piece.n_columns));
        // Writes are multiples of 4 bytes.
        bytes_.resize((bytes + 3) / 4 * 4);
        PUNA_CO_TRY(
            co_await read_piece(file_, spec, piece, std::span(bytes_).first(bytes), temporary_));
        PUNA_CO_TRY(const size_t slot, co_await ring_.next());
        PUNA_CO_TRY(repack.run(
            ring_, slot, {row, piece.n_rows, piece.first_column, piece.n_columns, 0}, bytes_));
        ahead_->add_read(bytes);
        done_ += bytes;
        if (hooks_.on_progress) hooks_.on_progress(done_, total_);
      }
    }
    co_return {};
  }

  Task<Result<void>> load_constants() {
    for (const plan::ConstantSpec& constant : program_.plan().constants) {
      std::vector<float> values;
      for (plan::VectorId v : constant.vectors) {
        PUNA_CO_TRY(const std::vector<float> part, co_await read_vector(file_, graph_.vectors[v]));
        values.insert(values.end(), part.begin(), part.end());
      }
      const gpu::BufferId buffer = program_.buffer(constant.slice);
      if (constant.sections) {
        PUNA_CO_TRY(const auto pairs, kernels::section_pairs(*constant.sections));
        const auto table = kernels::mrope_table(pairs);
        PUNA_CO_TRY(
            device_.write_buffer(buffer, constant.slice.offset, std::as_bytes(std::span(table))));
      } else if (constant.table) {
        const auto table =
            kernels::rope_table(*constant.table, values.empty() ? nullptr : values.data());
        PUNA_CO_TRY(
            device_.write_buffer(buffer, constant.slice.offset, std::as_bytes(std::span(table))));
      } else {
        PUNA_CO_TRY(
            device_.write_buffer(buffer, constant.slice.offset, std::as_bytes(std::span(values))));
      }
    }
    co_return {};
  }

  const ModelFile& file_;
  const plan::Graph& graph_;
  plan::GpuProgram& program_;
  gpu::Device& device_;
  const LoadHooks& hooks_;
  StagingRing ring_;
  plan::Pipelines pipelines_;
  std::vector<size_t> pipeline_of_chunk_;
  std::vector<std::byte> bytes_, temporary_;
  std::optional<ReadingAhead> ahead_;
  uint64_t done_ = 0, total_ = 0;
};

}  // namespace

Task<Result<void>> load_weights(const ModelFile& file, const plan::Graph& graph,
                                plan::GpuProgram& program, gpu::Device& device,
                                const LoadHooks& hooks) {
  Loader loader(file, graph, program, device, hooks);
  co_return co_await loader.run();
}

}  // namespace puna::engine
