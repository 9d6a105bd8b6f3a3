// Scheduler: the texts that one engine writes at the same time. Each has a sequence of the engine
// to itself while it runs; the tokens of all are chosen in common steps, and prompts are read in
// chunks between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/engine.h"

namespace puna::engine {

enum class StopReason : uint8_t { kEnd, kLength, kContext, kCancelled, kStopped };

struct GenerateOptions {
  kernels::SamplingParams sampling;
  std::optional<uint32_t> max_tokens;  // none = until the end token or the context is full
  bool ignore_end = false;             // go on after an end token
  const std::atomic<bool>* cancel = nullptr;
  // While set the text pauses, unless another one waits for its sequence: its reader is behind.
  const std::atomic<bool>* hold = nullptr;
};

// Called for each token as it is chosen (end tokens too, unless they end the text); false stops.
using OnToken = std::function<bool(int32_t id)>;

struct GenerateStats {
  uint32_t n_prompt = 0;  // tokens of the prompt that were evaluated now
  uint32_t n_cached = 0;  // tokens of the prompt that the cache already held
  uint32_t n_generated = 0;
  double prompt_ms = 0;  // from when a sequence was free until the first token was chosen
  double decode_ms = 0;  // after that
  StopReason stop = StopReason::kEnd;
};

class Scheduler {
 public:
  explicit Scheduler(Engine& engine);  // which outlives it
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Writes on from `prompt`; waits while no sequence is free. What the cache of the sequence holds
  // of the prompt's beginning is not evaluated again: the sequence is the one that holds most of
  // it, unless more of another text would be lost for it; else the one that was used longest ago.
  // on_token sees each new token. Errors: kInvalidArgument when the prompt is empty, holds unknown
  // ids, or leaves no room in the context (both numbers named), or parameters are out of range;
  // those of the device.
  base::Task<base::Result<GenerateStats>> generate(std::vector<int32_t> prompt,
                                                   GenerateOptions options,
                                                   std::vector<int32_t> end_tokens,
                                                   OnToken on_token);
  // Of a text that would begin now: how many of its tokens the cache holds.
  uint32_t n_cached(std::span<const int32_t> prompt) const;
  // The sequences that hold texts and are free: what could be saved of them.
  std::vector<uint32_t> texts() const;

  // What could be taken up of a text that is to begin; the pieces after one that failed are left.
  struct Restored {
    uint32_t n_cached = 0;  // tokens that the cache holds now; 0 also when no sequence is free
    size_t n_pieces = 0;    // that were taken up
    std::optional<base::Error> error;  // of the piece after them
  };
  // Takes up saved pieces of `prompt`, which follow each other, in the sequence that generate()
  // would give it. Texts may be written meanwhile. `model`: as of Engine::restore().
  base::Task<Restored> restore(std::vector<int32_t> prompt, std::string model,
                               std::vector<std::unique_ptr<io::ByteSource>> pieces);

  // After a hold was let go, or a text that may be held was cancelled.
  void wake();

 private:
  struct Text;
  using TextPtr = std::shared_ptr<Text>;

  base::Result<void> check(const Text& text) const;
  // Runs while there are texts.
  base::Task<bool> drive();
  // Gives free sequences to the texts that wait, in order.
  void admit();
  base::Result<void> begin(Text& text);
  // None when all are in use.
  std::optional<uint32_t> choose_sequence(std::span<const int32_t> prompt) const;
  uint32_t common(uint32_t sequence, std::span<const int32_t> prompt) const;
  bool is_full() const;
  // Whether a text that waits can go on, so that the others are to pause for it.
  bool has_work_waiting() const;
  bool is_held(const Text& text) const;
  // Reads a chunk of a prompt, of each text in its turn. False when there was none.
  base::Task<bool> read_prompts();
  base::Task<base::Result<void>> read_chunk(Text& text);
  // Chooses tokens of all texts whose prompts are read. False when there was none.
  base::Task<bool> write_texts();
  // Frees its sequence and answers.
  void finish(const TextPtr& text, base::Result<void> result);

  Engine& engine_;
  std::list<TextPtr> waiting_, running_;
  // By sequence: when it was used last; 0 while it is in use, at most their number before the first
  // text.
  std::vector<uint64_t> used_;
  uint64_t clock_ = 0;
  bool driving_ = false;
  std::function<void(bool)> wake_;  // set while all texts are held
};

}  // namespace puna::engine
