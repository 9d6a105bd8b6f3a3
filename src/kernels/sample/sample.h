// Choosing tokens on the GPU, and the chaining of steps without a round trip. sampling.h defines
// the choice; this is how it runs, for up to kMaxBatch outputs with parameters of their own:
//   scan     bias and penalties, keys, the largest key of each group of ids
//   cut      the threshold of top-k and top-p; left out when no row has one (StepShape::cuts)
//   draw     the best score of each chunk of ids
//   advance  the best of all is the id: ids[step[kStepChoices] % kChosenSteps][i]; of the first
//            step[kStepGoOnCount] outputs also the next step's row i, and part of the history
// ids are those of the step's outputs, in their order, kNoToken where nothing can be chosen; then
// the next step goes on with token 0. The logits are overwritten.
#pragma once

#include <span>
#include <vector>

#include "kernels/common/call.h"
#include "kernels/sample/sampling.h"

namespace puna::kernels {

constexpr uint32_t kMaxBatch = 128;   // rows of the largest decode class
constexpr uint32_t kChosenSteps = 8;  // steps whose ids are kept, so that they are read together
constexpr uint32_t kMaxVocab = 1u << 19;  // that sums of the cut have room for

// Layout of the sampling buffer: SampleRow[kMaxBatch], by output, then pairs (id, f32 value)
// [max_rows, kMaxLogitBias].
constexpr uint64_t sampling_bytes(uint32_t max_rows) {
  return kMaxBatch * sizeof(SampleRow) + uint64_t{max_rows} * kMaxLogitBias * 2 * sizeof(uint32_t);
}
// Its words from the start, for these outputs (at most kMaxBatch), as far as they are used.
std::vector<uint32_t> sampling_words(std::span<const SamplingParams> outputs);
// Whether a step that samples by these has StepShape::cuts.
bool cuts(std::span<const SamplingParams> outputs, uint32_t vocab);

struct SampleArgs {
  std::string label;
  Slice step = {};
  Slice sampling = {};  // of sampling_bytes()
  Slice history = {};   // u32 [n_sequences, context]: tokens by sequence and position; read within
                        // the windows of penalties
  Slice logits = {};    // [n_outputs, vocab] f32
  Slice ids = {};       // u32 [kChosenSteps][kMaxBatch]
  Slice scratch = {};   // of sample_scratch_bytes()
  uint32_t vocab = 0;
  uint32_t context = 0;
  uint32_t max_rows = 1;  // of the class, at most kMaxBatch
};
uint64_t sample_scratch_bytes(const SampleArgs& args);
// Errors: kInvalidArgument for a vocabulary of more than kMaxVocab tokens, or too many rows.
base::Result<void> sample(const gpu::DeviceInfo& device, const SampleArgs& args,
                          std::vector<KernelCall>& out);

}  // namespace puna::kernels
