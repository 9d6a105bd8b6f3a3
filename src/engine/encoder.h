// Encoder: a loaded model of pictures or sounds (models/vision/encoder.h) on one device, which
// makes of tiles the rows that stand in a prompt. Its graph is planned as any other, of one class:
// the rows of the largest tile; tiles are run one after the other (docs/decisions/encoders.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
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
  kernels::Numerics numerics = kernels::Numerics::kFast;
  const kernels::Profile* profile = nullptr;  // of the GPU; null: portable defaults
  std::shared_ptr<base::ThreadPool> threads;  // null, on the CPU: n_threads of its own
  int n_threads = 0;
};

// What a picture or a sound became.
struct Encoded {
  Media media;                       // its digest is the caller's to fill in
  std::vector<models::Cells> tiles;  // in their order
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
  // The rows of all tiles. Runs on the engine's thread, between steps. Errors: those of
  // models::encoder_rows(); kInvalidArgument for a tile of more rows than planned for, with both
  // numbers.
  base::Task<base::Result<Encoded>> run(std::vector<models::EncoderInput> tiles);
  uint32_t max_rows() const { return max_rows_; }
  virtual plan::MemoryUse memory() const = 0;
  // For a driver of tasks: blocks until something that a task waits for may have happened.
  virtual void poll() = 0;

 protected:
  Encoder() = default;
  // Fills out [n_outputs, row_width].
  virtual base::Task<base::Result<void>> run_rows(const models::EncoderRows& rows,
                                                  std::span<float> out) = 0;

 private:
  base::Result<void> place(const models::EncoderRows& rows, std::span<const float> outputs,
                           std::vector<float>& out) const;

  models::EncoderConfig config_;
  models::EncoderTables tables_;
  uint32_t max_rows_ = 0;
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
