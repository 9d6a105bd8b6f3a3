// Encoder: a loaded model of pictures or sounds (models/vision/encoder.h) on one device, which
// makes of tiles the rows that stand in a prompt. Its graph is planned as any other, of one class;
// as many tiles as fit it are run together (encoder_batch.h), in pieces where texts are stepped
// between them (docs/decisions/encoders.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
#include "engine/encoder_batch.h"
#include "engine/executor.h"
#include "engine/prompt.h"
#include "formats/model_file.h"
#include "gpu/device.h"
#include "models/vision/encoder.h"
#include "plan/step.h"

namespace puna::engine {

// Of encoders that take tiles of any size, where nothing else is asked for.
constexpr uint32_t kUsualTileRows = 4096;

struct EncoderOptions {
  models::Sense sense = models::Sense::kPictures;
  // Patches of the largest tile, for encoders of tiles of any size; memory is planned for as many.
  uint32_t max_rows = kUsualTileRows;
  // Tiles of one picture, for encoders of tiles of one size: memory is planned for as many as have
  // kUsualTileRows together, at least for one.
  uint32_t max_tiles = 1;
  kernels::Numerics numerics = kernels::Numerics::kFast;
  const kernels::Profile* profile = nullptr;  // of the GPU; null: portable defaults
  std::shared_ptr<base::ThreadPool> threads;  // null, on the CPU: n_threads of its own
  int n_threads = 0;
};

// What a picture or a sound became.
struct Encoded {
  Media media;                       // its digest is the caller's to fill in
  std::vector<models::Cells> tiles;  // in their order
  double flops = 0;                  // of products and attention
};

class Encoder {
 public:
  // On the device, or on the CPU where that is null. Errors: those of models::read_encoder() and
  // models::build_encoder(), of reading and of the device; kOutOfMemory.
  static base::Task<base::Result<std::unique_ptr<Encoder>>> load(formats::ModelFile file,
                                                                 EncoderOptions options,
                                                                 gpu::Device* device,
                                                                 LoadHooks hooks);
  virtual ~Encoder() = default;

  const models::EncoderConfig& config() const { return config_; }
  // The rows of all tiles. Runs on the engine's thread, between steps. Errors: those of begin() and
  // advance().
  base::Task<base::Result<Encoded>> run(std::vector<models::EncoderInput> tiles);
  // The same in pieces, so that what runs beside need not wait for all of it: begin(), then
  // advance() until it says that this was the last piece, then take(). The tiles' values outlive
  // that. One run at a time: another begin() drops the one under way.
  // Errors: kInvalidArgument for a tile of more rows than planned for, with both numbers.
  base::Result<void> begin(std::vector<models::EncoderInput> tiles);
  // Goes on until at least budget_ms have passed, for one op (on a GPU one call of a kernel) at the
  // least. Errors: those of models::encoder_rows() and of the device, which end the run.
  base::Task<base::Result<bool>> advance(double budget_ms);
  Encoded take();
  uint32_t max_rows() const { return max_rows_; }
  virtual plan::MemoryUse memory() const = 0;
  // For a driver of tasks: blocks until something that a task waits for may have happened.
  virtual void poll() = 0;

 protected:
  Encoder() = default;
  // A piece of the run of a batch, beginning where the one before ended (anew where `fresh`);
  // whether it was the last, which fills out [n_outputs, row_width].
  virtual base::Task<base::Result<bool>> advance_batch(const EncoderBatch& batch, bool fresh,
                                                       std::span<float> out, double budget_ms) = 0;

 private:
  base::Result<void> next_batch();
  base::Result<void> place(const EncoderBatch::Tile& tile);

  models::EncoderConfig config_;
  models::EncoderTables tables_;
  BatchLayout layout_;
  uint32_t max_rows_ = 0;

  // The run under way.
  std::vector<models::EncoderInput> tiles_;
  size_t n_begun_ = 0;  // of the tiles
  std::optional<EncoderBatch> batch_;
  bool fresh_ = false;  // nothing of the batch has run
  std::vector<float> outputs_;
  Encoded encoded_;
};

// The two devices. `graph` is fused.
struct EncoderPlan {
  plan::Graph graph;
  uint32_t max_rows = 0, max_outputs = 0;
};
base::Task<base::Result<std::unique_ptr<Encoder>>> load_cpu_encoder(const formats::ModelFile& file,
                                                                    EncoderPlan plan,
                                                                    const EncoderOptions& options,
                                                                    LoadHooks hooks);
base::Task<base::Result<std::unique_ptr<Encoder>>> load_gpu_encoder(const formats::ModelFile& file,
                                                                    EncoderPlan plan,
                                                                    const EncoderOptions& options,
                                                                    gpu::Device& device,
                                                                    LoadHooks hooks);

}  // namespace puna::engine
