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

// How an output is chosen on the device.
struct DeviceSampling {
  SamplingParams params;                   // not on_host()
  std::span<const uint32_t> allowed = {};  // a bit for each id, lowest bits first; empty: all
};
// The sampling buffer: SampleRow[kMaxBatch], by output; then of each of max_rows outputs pairs
// (id, f32 value) [kMaxLogitBias] and bits of ids [ceil(vocab / 32)] words.
uint64_t sampling_bytes(uint32_t vocab, uint32_t max_rows);
// What is to be written into it for these outputs.
struct SamplingPart {
  uint64_t offset_bytes = 0;
  std::vector<uint32_t> words;
};
std::vector<SamplingPart> sampling_parts(std::span<const DeviceSampling> outputs, uint32_t vocab);
// Whether a step that samples by these has StepShape::cuts.
bool cuts(std::span<const DeviceSampling> outputs, uint32_t vocab);

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
  bool places = false;    // the step has a RowPlace for each row, the next step too
};
uint64_t sample_scratch_bytes(const SampleArgs& args);
// Errors: kInvalidArgument for a vocabulary of more than kMaxVocab tokens, or too many rows.
base::Result<void> sample(const gpu::DeviceInfo& device, const SampleArgs& args,
                          std::vector<KernelCall>& out);

}  // namespace puna::kernels
