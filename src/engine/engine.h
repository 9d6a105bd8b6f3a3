// Engine: a model loaded on a device. Tokens in, tokens out; text and chat live above, in service/.
// Read next: scheduler.h (texts), executor.h (a device), kernels/sample/sampling.h, kv_pool.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
#include "engine/executor.h"
#include "engine/kv_pool.h"
#include "engine/placement.h"
#include "engine/saved_prefix.h"
#include "engine/snapshots.h"
#include "formats/model_file.h"
#include "gpu/device.h"
#include "io/byte_sink.h"
#include "io/byte_source.h"
#include "kernels/profile/profile.h"
#include "kernels/sample/sampling.h"
#include "models/models.h"
#include "tokenizer/tokenizer.h"

namespace puna::engine {

struct EngineOptions {
  std::optional<uint32_t>
      context;  // tokens a sequence may hold; none = min(trained, 8192, what fits); 0 = trained
  uint32_t wanted_context = 0;  // where context is none: at least this, up to the trained one
  kernels::KvType kv_type = kernels::KvType::kF16;
  kernels::Numerics numerics = kernels::Numerics::kFast;
  std::optional<uint32_t> gpu_layers;      // the last ones go to the GPU; none = as many as fit
  int n_threads = 0;                       // CPU device: 0 = one per physical core
  bool lock_memory = false;                // CPU device: weights are kept from being swapped out
  uint32_t n_sequences = 1;                // how many sequences may be held at once
  bool all_logits = false;                 // load for logits(), which is slow otherwise on a GPU
  bool embeddings = false;                 // load for embed(): without the output layer
  std::optional<models::Pooling> pooling;  // of embed(); none = as the file says
  double chain_ms = kChainMs;              // 0: the ids of each step are read back by themselves
  std::shared_ptr<const kernels::Profile> profile;  // of the GPU; null: portable defaults
  LoadHooks hooks;
  // In a page others use the GPU and the thread too. Above 0, prompts are evaluated in chunks that
  // take about so long, with a rest after each; and give_way lets others have the thread.
  double turn_ms = 0;
  GiveWay give_way;
};

// What one sequence of a batch goes on with.
struct BatchRow {
  uint32_t sequence = 0;
  std::vector<int32_t> tokens;  // after what the cache holds of the sequence; at least one
  kernels::SamplingParams sampling;
};

// Where a measured decode chooses its tokens: on the device, or on the host from logits that are
// read back after each step.
enum class ChooseOn : uint8_t { kDevice, kHost };

class Engine {
 public:
  // Loads onto `device`, or onto the CPU when it is null. Errors: those of the model's build;
  // kInvalidArgument for a context above the trained one; kOutOfMemory saying what does not fit.
  static base::Task<base::Result<std::unique_ptr<Engine>>> load(formats::ModelFile file,
                                                                std::unique_ptr<gpu::Device> device,
                                                                EngineOptions options);

  const models::Config& config() const { return config_; }
  const formats::ModelFile& file() const { return file_; }
  // The CPU device has none.
  const gpu::Device* device() const { return device_.get(); }
  uint32_t context() const { return context_; }
  int n_threads() const { return pool_ ? pool_->n_threads() : 0; }
  const EngineOptions& options() const { return options_; }
  const Placement& placement() const { return placement_; }
  plan::MemoryUse memory() const { return executor_->memory(); }
  // Lets waiting tasks go on; for base::run_until.
  void poll() { executor_->poll(); }

  // Logits of every position of a fresh evaluation from position 0: out [tokens, vocab]. Forgets
  // sequence 0. Errors: kInvalidArgument for an id outside the vocabulary or more tokens than the
  // context; those of no_numbers.h for logits by which no token can be chosen.
  base::Task<base::Result<void>> logits(std::vector<int32_t> tokens, std::span<float> out);

  // The same for tokens behind what the cache holds of a sequence, in one step, after which it
  // holds them too: at most kernels::kMaxStepTokens.
  base::Task<base::Result<void>> logits_behind(uint32_t sequence, std::vector<int32_t> tokens,
                                               std::span<float> out);

  // The embedding of a text, evaluated afresh from position 0: [n_out()], or [tokens, n_out()] when
  // pooling() is kNone. Forgets sequence 0. Only of an engine loaded for embeddings. Errors: as
  // logits(); kUnsupported for a text longer than one step of a model whose tokens see all others.
  base::Task<base::Result<std::vector<float>>> embed(std::vector<int32_t> tokens);
  models::Pooling pooling() const { return pooling_; }
  uint32_t n_out() const { return n_out_; }

  // One sequence or several (scheduler.h says which, and when): evaluates the tokens of all rows in
  // one step (together at most kernels::kMaxStepTokens), chooses a token for each row by its own
  // parameters, and goes on with n_steps - 1 steps of one token a row. on_ids gets the ids of each
  // step, by row; false ends it. The last ids are in no cache: they are the next call's tokens.
  // Errors: kInvalidArgument for no or too many rows (kernels::kMaxBatch), a sequence twice,
  // parameters out of range, unknown ids and texts beyond the context; those of no_numbers.h for
  // logits by which no token can be chosen, whose sequence is then forgotten; those of the device.
  base::Task<base::Result<void>> decode(std::vector<BatchRow> rows, uint32_t n_steps, OnIds on_ids);
  // Evaluates tokens at the end of what the sequence's cache holds, in chunks. Errors: as decode.
  base::Task<base::Result<void>> prefill(uint32_t sequence, std::vector<int32_t> tokens);
  // Evaluates the next chunk of them, and gives its size; 0 when all that is left fits a step that
  // chooses the next token. With `keeps`, a rewind can come back to its end. Errors: those of the
  // device.
  base::Task<base::Result<uint32_t>> prefill_chunk(uint32_t sequence,
                                                   std::span<const int32_t> tokens,
                                                   bool keeps = true);
  // The tokens that the cache of a sequence holds.
  std::span<const int32_t> cached(uint32_t sequence) const { return cached_[sequence]; }
  uint32_t n_cached(uint32_t sequence) const {
    return static_cast<uint32_t>(cached_[sequence].size());
  }
  // kInvalidArgument for ids outside the vocabulary, and for parameters out of range.
  base::Result<void> check_tokens(std::span<const int32_t> tokens) const;
  base::Result<void> check_sampling(const kernels::SamplingParams& sampling) const;

  // For measuring: evaluates n tokens at the end of sequence 0 and chooses the next one, or decodes
  // n tokens.
  base::Task<base::Result<void>> bench_prefill(uint32_t n_tokens);
  base::Task<base::Result<void>> bench_decode(uint32_t n_tokens, kernels::SamplingParams sampling,
                                              ChooseOn where);
  // Where the time of a step of n_tokens at the end of sequence 0 goes. Blocks.
  base::Result<StepTimes> bench_step(uint32_t n_tokens, const kernels::SamplingParams& sampling);
  // What the device can do at most (of a model on two devices the GPU). Blocks.
  base::Result<kernels::Ceilings> bench_ceilings();
  // Keeps the first n_tokens of what the sequence's cache holds, or fewer where a recurrent state
  // goes back only so far.
  base::Result<void> rewind(uint32_t sequence, uint32_t n_tokens);
  base::Result<void> forget(uint32_t sequence) { return rewind(sequence, 0); }
  // Lets a rewind come back to just here; without recurrent state it always does.
  base::Result<void> keep(uint32_t sequence);

  // Keeping what the cache holds of a text where it outlives the engine (saved_prefix.h). `model`
  // says whose weights computed it, as one text for one file. Not while the sequence is used, and
  // save() not while any is.
  //
  // Where pieces of the sequence's text may end, rising: every kPieceTokens and at the last whole
  // page. A recurrent state is known in few places; then it is the newest of these, or none.
  std::vector<uint32_t> piece_ends(uint32_t sequence) const;
  // Writes what the cache holds of tokens [first, end) of the sequence, and leaves finish() to the
  // caller; with recurrent state from 0 on only. Errors: kInvalidArgument for another range; those
  // of the sink and the device.
  base::Task<base::Result<void>> save(uint32_t sequence, uint32_t first, uint32_t end,
                                      std::string model, io::ByteSink& sink);
  // What has to be the same where a piece is taken up: the model, and all that shapes the bytes.
  base::Json identity(const std::string& model) const;
  // Takes up a piece again whose tokens are the beginning of `text`, where the cache of the
  // sequence holds that up to the piece's first token. On an error it holds no more than that.
  // Errors: kCorrupt for a piece that is cut or damaged; kUnsupported for one of another version,
  // model or engine; kInvalidArgument for one that does not go on here, or is longer than the
  // context; those of the source and the device.
  base::Task<base::Result<void>> restore(uint32_t sequence, std::span<const int32_t> text,
                                         std::string model, io::ByteSource& source);

 private:
  Engine() = default;

  base::Result<void> check_batch(std::span<const BatchRow> rows, uint32_t n_steps) const;
  // Evaluates chunks of what comes at the end of a sequence, of which at most one is left; gives
  // it.
  base::Task<base::Result<std::vector<int32_t>>> prefill_all_but_last(uint32_t sequence,
                                                                      std::vector<int32_t> tokens,
                                                                      bool keeps = true);
  // With turn_ms: lets others have a turn after a chunk of n tokens that began `ms` ago, and sizes
  // the next one.
  base::Task<base::Result<void>> take_turns(uint32_t n_tokens, const base::Timer& since);
  // The errors for values that are no numbers (no_numbers.h), and for logits by which no token can
  // be chosen.
  base::Task<base::Error> no_numbers(std::string what) const;
  base::Task<base::Error> no_choice(size_t position) const;
  base::Result<void> make_room(uint32_t sequence, uint32_t n_tokens);
  base::Task<base::Result<void>> take_up(uint32_t sequence, const PieceHead& head, uint64_t at,
                                         io::ByteSource& source);

  formats::ModelFile file_;
  models::Config config_;
  EngineOptions options_;
  uint32_t context_ = 0;
  uint32_t vocab_ = 0;
  uint32_t n_out_ = 0;  // of a row of outputs: the vocabulary, or the size of an embedding
  models::Pooling pooling_ = models::Pooling::kLast;
  std::unique_ptr<base::ThreadPool> pool_;
  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<Executor> executor_;
  Placement placement_;
  std::optional<KvPool> kv_;
  uint32_t chunk_ = kernels::kMaxStepTokens;  // tokens of a prompt that a step takes
  std::optional<Snapshots> snapshots_;        // of models with recurrent state
  std::vector<std::vector<int32_t>> cached_;  // by sequence: the tokens its cache holds
};

}  // namespace puna::engine
