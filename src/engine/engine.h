// Engine: a model loaded on a device. Tokens in, tokens out; text and chat live above, in service/.
// Read next: scheduler.h (texts), text_cache.h (what is remembered of them), executor.h (a device),
// kernels/sample/sampling.h.
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
#include "engine/no_numbers.h"
#include "engine/placement.h"
#include "engine/prompt.h"
#include "engine/saved_prefix.h"
#include "engine/step_budget.h"
#include "engine/text_cache.h"
#include "engine/token_filter.h"
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
  std::optional<uint32_t> gpu_layers;  // the last ones go to the GPU; none = as many as fit
  // Of how many layers, the first that have experts, these are on the CPU though the layer is on
  // the GPU; none = of as few as memory wants; kAllLayers.
  std::optional<uint32_t> cpu_experts = 0;
  Fit fit;                                    // of these
  MoreGpus more_gpus;                         // behind the device that it is loaded onto
  bool check_weights = false;                 // that all are numbers, before they are loaded
  int n_threads = 0;                          // CPU device: 0 = one per physical core
  std::shared_ptr<base::ThreadPool> threads;  // lent to it instead; several engines may share them
  bool lock_memory = false;                   // CPU device: weights are kept from being swapped out
  uint32_t n_sequences = 1;                   // how many texts may be written at once
  uint32_t n_drafts = 0;                      // that a row of decode() may have at most
  std::optional<uint64_t> cache_tokens;       // of all texts together; none = a context for each
  // Of layers with windows, where these have fewer pages than the others; none = as many, or what
  // all texts need at once and some more.
  std::optional<uint64_t> window_cache_tokens;
  // Of recurrent states: copies that are kept for each text that may be written at once, and tokens
  // of a long prompt between two of them, in whole pages.
  uint32_t states_each = 4;
  uint32_t state_interval = 512;
  uint64_t host_cache_bytes = 0;  // host memory for what leaves the cache
  bool all_logits = false;        // load for logits(), which is slow otherwise on a GPU
  bool media = false;             // prompts may have spans of media
  // Of media whose rows attend to each other, rows of the longest; memory is planned for a step of
  // as many, where a step of texts has fewer.
  uint32_t media_rows = 0;
  bool embeddings = false;                 // load for embed(): without the output layer
  std::optional<models::Pooling> pooling;  // of embed(); none = as the file says
  // Tokens of prompts that a step may have, kernels::kMaxStepTokens to kLargeStepTokens
  // (blueprint.h); none = the most where matrix units multiply them faster, the whole model is on
  // one GPU, and that has room (docs/decisions/large-steps.md); else the least.
  std::optional<uint32_t> step_tokens;
  double chain_ms = kChainMs;  // 0: the ids of each step are read back by themselves
  std::shared_ptr<const kernels::Profile> profile;  // of the GPU; null: portable defaults
  LoadHooks hooks;                                  // of load() alone
  // What a step with prompts may take, in milliseconds, while other texts are written: at most
  // this, or twice a step of these alone; less for short prompts (step_budget.h).
  double step_ms = 100;
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
  bool chooses = true;  // a token after these
  // Both outlive the decode: what the token has to pass, and what the text's sampler remembers.
  TokenFilter* filter = nullptr;
  // For how many tokens the filter has allowed the same, where it is likely to go on so: further
  // tokens are chosen by the same bits, and whoever takes them ends the decode where the bits
  // change. 0: it is not.
  uint32_t n_steady = 0;
  kernels::SamplerState* state = nullptr;
  std::span<const Prompt::Span> media = {};  // of the sequence; outlive the decode too
  // Guesses of what comes after `tokens`, evaluated in the same step: a token is chosen after each,
  // and a guess stands as long as it is the token that was chosen in its place (speculative
  // decoding, Leviathan et al. 2023). Choices depend on seed, position and what is before them
  // only, so the text is the same as without, at any temperature.
  std::vector<int32_t> drafts = {};

  // The filter is asked again after each token, so that the row goes on in a decode of many steps.
  // Of all rows with filters, or of none; not beside rows that are chosen once.
  bool moves = false;

  // Whether the token is chosen in the first step of several only (executor.h).
  bool once() const {
    return (filter && n_steady == 0 && !moves) || sampling.on_host() || !drafts.empty();
  }
};

// kCancelled where `cancel` is set; null: nobody cancels.
base::Result<void> check_cancel(const std::atomic<bool>* cancel);

class Engine {
 public:
  // Loads onto `device`, or onto the CPU when it is null. Errors: those of the model's build;
  // kInvalidArgument for a context above the trained one, or more than the cache; kOutOfMemory
  // saying what does not fit; those of check_weights() (no_numbers.h), where that is asked for.
  static base::Task<base::Result<std::unique_ptr<Engine>>> load(formats::ModelFile file,
                                                                std::shared_ptr<gpu::Device> device,
                                                                EngineOptions options);

  // What loading would take on which device, without it: `device` as of load(). With gpu_bytes and
  // no options.gpu_layers as many layers go to the GPU as fit in so much of its memory. Weights
  // that stay where they lie in a mapped file are counted too. Errors: those of load() that need no
  // device; kOutOfMemory where gpu_bytes hold no layer.
  static base::Result<Placement> forecast(const formats::ModelFile& file,
                                          const EngineOptions& options,
                                          const gpu::DeviceInfo* device,
                                          std::optional<uint64_t> gpu_bytes = {});

  // An engine around an executor that was loaded otherwise. options.n_sequences and the context are
  // those of `cache`; `window`: of its layers with windows.
  static std::unique_ptr<Engine> around(std::unique_ptr<Executor> executor, models::Config config,
                                        plan::CacheConfig cache, bool recurrent,
                                        EngineOptions options, uint32_t window = 0);

  const models::Config& config() const { return config_; }
  const formats::ModelFile& file() const { return file_; }
  // The CPU device has none.
  gpu::Device* device() const { return device_.get(); }
  uint32_t context() const { return context_; }
  // Tokens of a step at most: those of prompts, or what options.media_rows need.
  uint32_t step_rows() const { return step_rows_; }
  // Tokens of prompts that the next step may have, of so many that are left: more than
  // kernels::kMaxStepTokens where they fill a large step at least by half, and are known to take no
  // longer than a cancel may wait.
  uint32_t step_tokens(size_t n_left) const;
  int n_threads() const { return pool_ ? pool_->n_threads() : 0; }
  // As given to load(), without its hooks, which may be gone.
  const EngineOptions& options() const { return options_; }
  const Placement& placement() const { return placement_; }
  plan::MemoryUse memory() const {
    plan::MemoryUse use = executor_->memory();
    return use += executor_->host_memory();
  }
  // Lets waiting tasks go on; for base::run_until.
  void poll() { executor_->poll(); }

  // What is remembered of texts, by sequence; below `sequence` is one of its.
  TextCache& cache() { return *cache_; }
  const TextCache& cache() const { return *cache_; }

  // Logits of every position of a fresh evaluation from position 0: out [tokens, vocab], in an
  // empty sequence that is empty again afterwards. `cancel` is looked at before each step; null:
  // nobody cancels. Errors: kInvalidArgument for an id outside the vocabulary or more tokens than
  // the context; those of check_prompt() for media; those of no_numbers.h for logits by which no
  // token can be chosen; those of the device; kCancelled.
  base::Task<base::Result<void>> logits(uint32_t sequence, Prompt prompt, std::span<float> out,
                                        const std::atomic<bool>* cancel = nullptr);
  // The same for tokens behind what the cache holds of a sequence, in one step, after which it
  // holds them too: at most kernels::kMaxStepTokens. On an error of no_numbers.h the sequence is
  // empty.
  base::Task<base::Result<void>> logits_behind(uint32_t sequence, std::vector<int32_t> tokens,
                                               std::span<float> out);

  // The embeddings of texts, each evaluated afresh from position 0 in an empty sequence of its own,
  // several in one step as far as they fit: [n_out()] each, or [tokens, n_out()] when pooling() is
  // kNone. Only of an engine loaded for embeddings. Errors: as logits(), with the text's number
  // (the first has first_number); kUnsupported for a text longer than one step of a model whose
  // tokens see all others.
  base::Task<base::Result<std::vector<std::vector<float>>>> embed(
      std::vector<uint32_t> sequences, std::vector<std::vector<int32_t>> texts,
      size_t first_number = 1, const std::atomic<bool>* cancel = nullptr);
  models::Pooling pooling() const { return pooling_; }
  uint32_t n_out() const { return n_out_; }

  // One sequence or several (scheduler.h says which, and when): evaluates the tokens of all rows in
  // one step (together at most step_rows()), chooses a token for each row that wants
  // one by its own parameters, and goes on with up to n_steps - 1 steps of one token a row, without
  // the rows that are chosen once (executor.h says how many steps then). on_chosen gets what each
  // step chose, by row that it has, of one with drafts a token for each draft that stands and one
  // more; false ends it. The last id of a row is in no cache: it is the next call's token. An id of
  // kernels::kNoToken, which ends it too, is of a row for which none can be chosen; no_choice()
  // says why. Errors: kInvalidArgument for no rows or too many that choose (kernels::kMaxBatch), a
  // sequence twice, several steps with a row that does not choose, parameters out of range, unknown
  // ids, texts beyond the context and drafts for mirostat, which remembers what it chose;
  // kUnsupported for drafts with recurrent states, which cannot be taken back; kOutOfMemory as of
  // TextCache::make_room(); those of the device.
  base::Task<base::Result<void>> decode(std::vector<BatchRow> rows, uint32_t n_steps,
                                        OnChosen on_chosen);
  // The error for a row of decode() that got kernels::kNoToken (no_numbers.h); the sequence is
  // empty then. `cancel`, where there is one, ends the look at the weights.
  base::Task<base::Error> no_choice(uint32_t sequence, const std::atomic<bool>* cancel = nullptr);
  // Evaluates tokens at the end of what the cache holds of a sequence, in as few steps as it takes.
  // Errors: as decode; kCancelled, as of logits().
  base::Task<base::Result<void>> prefill(uint32_t sequence, std::vector<int32_t> tokens,
                                         const std::atomic<bool>* cancel = nullptr);

  // kInvalidArgument for ids outside the vocabulary; for a prompt that is empty or leaves no room
  // in the context (both numbers named), and media whose rows are not as wide as the model's, or
  // attend to each other and are more than a step takes beside other texts; and for parameters out
  // of range. kUnsupported for media where the engine was loaded without, or of a kind that the
  // model does not take.
  base::Result<void> check_tokens(std::span<const int32_t> tokens) const;
  base::Result<void> check_prompt(const Prompt& prompt) const;
  base::Result<void> check_sampling(const kernels::SamplingParams& sampling) const;
  // Whether texts go on only where a recurrent state is kept.
  bool recurrent() const { return recurrent_; }
  // Of layers whose pages are apart, the widest window; 0: there are none.
  uint32_t window() const { return window_; }

  // How many tokens of prompts a step may take.
  StepBudget& budget() { return *budget_; }

  // The device itself, for who measures it (bench/) or gives it a rest.
  Executor& executor() { return *executor_; }
  base::ThreadPool* threads() { return pool_.get(); }

  // Keeping what the cache holds of a text where it outlives the engine (saved_prefix.h). `model`
  // says whose weights computed it, as one text for one file. Not beside decode() and its like.
  //
  // The texts that have ended and are still known, as their tokens, and where pieces of each may
  // end, rising: every kPieceTokens and at the last whole page. A recurrent state is known in few
  // places; then it is the last of these, or none.
  struct KeptText {
    std::vector<int32_t> tokens;
    std::vector<uint32_t> ends;
  };
  std::vector<KeptText> kept_texts() const;
  // Writes what the cache holds of tokens [first, end) of a text, where `end` is its end, and
  // leaves finish() to the caller; with recurrent state from 0 on only. Errors: kInvalidArgument
  // for a piece that is not known, or not any more; those of the sink and the device.
  base::Task<base::Result<void>> save(std::vector<int32_t> text, uint32_t first, std::string model,
                                      io::ByteSink& sink);
  // What has to be the same where a piece is taken up: the model, and all that shapes the bytes.
  base::Json identity(const std::string& model) const;
  // Takes up a piece again whose tokens are the beginning of `text`, where the cache knows that up
  // to the piece's first token, by way of an empty sequence. Errors: kCorrupt for a piece that is
  // cut or damaged; kUnsupported for one of another version, model or engine, and where no copies
  // of recurrent states are kept; kInvalidArgument for one that does not go on here, or is longer
  // than the context; those of the source and the device.
  base::Task<base::Result<void>> restore(uint32_t sequence, std::vector<int32_t> text,
                                         std::string model, io::ByteSource& source);

 private:
  Engine() = default;

  void begin(const plan::CacheConfig& cache);
  base::Result<void> check_batch(std::span<const BatchRow> rows, uint32_t n_steps) const;
  base::Result<void> check_drafts(const BatchRow& row) const;
  // Of tokens from `first` on in a text with these spans.
  base::Result<void> check_tokens(std::span<const int32_t> tokens, size_t first,
                                  std::span<const Prompt::Span> media) const;
  // The errors for values that are no numbers (no_numbers.h), and for logits by which no token can
  // be chosen.
  base::Task<base::Error> no_numbers(std::string what, const std::atomic<bool>* cancel = nullptr);
  base::Task<base::Error> no_choice_at(size_t position, const std::atomic<bool>* cancel = nullptr);
  base::Result<void> check_media(std::span<const Prompt::Span> spans) const;
  // One step of logits(); at most step_rows().
  base::Task<base::Result<void>> logits_of_step(uint32_t sequence, std::vector<int32_t> tokens,
                                                std::span<const Prompt::Span> media,
                                                std::span<float> out);
  base::Result<void> check_embedded(std::span<const int32_t> text) const;
  base::Task<base::Result<void>> take_up(uint32_t sequence, const PieceHead& head, uint64_t at,
                                         io::ByteSource& source);

  formats::ModelFile file_;
  models::Config config_;
  EngineOptions options_;
  uint32_t context_ = 0;
  uint32_t step_rows_ = 0;
  uint32_t step_tokens_ = kernels::kMaxStepTokens;
  uint32_t vocab_ = 0;
  uint32_t n_out_ = 0;  // of a row of outputs: the vocabulary, or the size of an embedding
  bool recurrent_ = false;
  uint32_t window_ = 0;  // of layers whose pages are apart
  MediaKinds media_;
  models::Pooling pooling_ = models::Pooling::kLast;
  std::shared_ptr<base::ThreadPool> pool_;
  std::shared_ptr<gpu::Device> device_;
  std::unique_ptr<Executor> executor_;
  Placement placement_;
  std::optional<TextCache> cache_;
  std::optional<StepBudget> budget_;
  NoNumbers no_numbers_;
};

}  // namespace puna::engine
