// GPU forms of sample.h.
#include "kernels/sample/sample.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/attention/attention.h"
#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kChunk =
    4 * kWorkgroup;                    // ids of a workgroup: one call of the generator each four
constexpr uint32_t kMaxGroups = 2048;  // that a workgroup lists in 8 KiB

// Ids of one maximum: few enough that only those near the top are read, at most kMaxGroups of them.
uint32_t group_ids(uint32_t vocab) {
  uint32_t ids = 128;
  while (div_up(vocab, ids) > kMaxGroups) ids *= 2;
  return ids;
}

// Of an output behind the parameters of all: its pairs of id and bias, then its bits.
constexpr uint64_t kBiasWords = uint64_t{kMaxLogitBias} * 2;
uint64_t extra_words(uint32_t vocab) { return kBiasWords + div_up(vocab, 32); }

// Parts of the scratch.
struct Scratch {
  Slice maxima, cuts, parts;
  uint64_t bytes = 0;
};
Scratch scratch_of(const SampleArgs& args) {
  Scratch s;
  const auto take = [&](uint64_t bytes) {
    constexpr uint64_t kAlignment = 256;
    const Slice slice{args.scratch.buffer, args.scratch.offset + s.bytes,
                      (bytes + kAlignment - 1) / kAlignment * kAlignment};
    s.bytes += slice.bytes;
    return slice;
  };
  const uint64_t rows = args.max_rows;
  s.maxima = take(rows * div_up(args.vocab, group_ids(args.vocab)) * sizeof(uint32_t));
  s.cuts = take(rows * sizeof(uint32_t));
  s.parts = take(rows * div_up(args.vocab, kChunk) * 2 * sizeof(uint32_t));
  return s;
}

}  // namespace

uint64_t sampling_bytes(uint32_t vocab, uint32_t max_rows) {
  return kMaxBatch * sizeof(SampleRow) + max_rows * extra_words(vocab) * sizeof(uint32_t);
}

std::vector<SamplingPart> sampling_parts(std::span<const DeviceSampling> outputs, uint32_t vocab) {
  constexpr size_t kRowWords = sizeof(SampleRow) / sizeof(uint32_t);
  std::vector<SamplingPart> parts(1);
  parts[0].words.resize(outputs.size() * kRowWords);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DeviceSampling& output = outputs[i];
    SampleRow row = sample_row(output.params);
    row.filtered = !output.allowed.empty();
    std::memcpy(&parts[0].words[i * kRowWords], &row, sizeof row);
    const uint64_t pairs =
        kMaxBatch * sizeof(SampleRow) + i * extra_words(vocab) * sizeof(uint32_t);
    if (row.n_bias > 0) {
      std::vector<uint32_t>& words = parts.emplace_back(SamplingPart{pairs, {}}).words;
      for (const auto& [id, value] : output.params.logit_bias) {
        words.push_back(static_cast<uint32_t>(id));
        words.push_back(std::bit_cast<uint32_t>(value));
      }
    }
    if (row.filtered) {
      parts.push_back(
          {pairs + kBiasWords * sizeof(uint32_t), {output.allowed.begin(), output.allowed.end()}});
    }
  }
  return parts;
}

bool cuts(std::span<const DeviceSampling> outputs, uint32_t vocab) {
  return std::ranges::any_of(
      outputs, [&](const DeviceSampling& output) { return sample_row(output.params).cuts(vocab); });
}

uint64_t sample_scratch_bytes(const SampleArgs& args) { return scratch_of(args).bytes; }

base::Result<void> sample(const gpu::DeviceInfo&, const SampleArgs& args,
                          std::vector<KernelCall>& out) {
  if (args.max_rows == 0 || args.max_rows > kMaxBatch) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("{} would choose for {} rows; 1 to {} are possible.", args.label,
                                  args.max_rows, kMaxBatch));
  }
  if (args.vocab == 0 || args.vocab > kMaxVocab) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("{} would choose among {} tokens; 1 to {} are possible.",
                                  args.label, args.vocab, kMaxVocab));
  }
  const Scratch scratch = scratch_of(args);
  const uint32_t chunks = div_up(args.vocab, kChunk);
  const uint32_t group = group_ids(args.vocab), groups = div_up(args.vocab, group);
  Describe(args.label + ".scan", "sample/scan.wgsl")
      .constant("B_STEP", args.step)
      .constant("B_SAMPLING", args.sampling)
      .constant("B_HISTORY", args.history)
      .arena("B_LOGITS", args.logits)
      .arena("B_MAXIMA", scratch.maxima)
      .number("VOCAB", args.vocab)
      .number("CONTEXT", args.context)
      .number("GROUP", group)
      .number("GROUPS", groups)
      .number("MAX_ROWS", kMaxBatch)
      .number("MAX_BIAS", kMaxLogitBias)
      .number("WG", kWorkgroup)
      .grid({Extent::kOne, chunks, 1}, {Extent::kOutputs})
      .add_to(out);
  Describe(args.label + ".cut", "sample/cut.wgsl")
      .constant("B_SAMPLING", args.sampling)
      .arena("B_KEYS", args.logits)
      .arena("B_MAXIMA", scratch.maxima)
      .arena("B_CUTS", scratch.cuts)
      .number("VOCAB", args.vocab)
      .number("GROUP", group)
      .number("GROUPS", groups)
      .grid({Extent::kOutputs}, {Extent::kIfCut})
      .add_to(out);
  Describe(args.label + ".draw", "sample/draw.wgsl")
      .constant("B_STEP", args.step)
      .constant("B_SAMPLING", args.sampling)
      .arena("B_KEYS", args.logits)
      .arena("B_MAXIMA", scratch.maxima)
      .arena("B_CUTS", scratch.cuts)
      .arena("B_PARTS", scratch.parts)
      .number("VOCAB", args.vocab)
      .number("GROUPS", groups)
      .number("PARTS", chunks)
      .number("NO_TOKEN", static_cast<uint32_t>(kNoToken))
      .number("WG", kWorkgroup)
      .grid({Extent::kOne, chunks, 1}, {Extent::kOutputs})
      .add_to(out);
  Describe advance(args.label + ".advance", "sample/advance.wgsl");
  if (args.places) advance.flag("PLACES");
  advance.arena("B_STEP", args.step)
      .arena("B_PARTS", scratch.parts)
      .arena("B_HISTORY", args.history)
      .arena("B_IDS", args.ids)
      .number("PARTS", chunks)
      .number("CONTEXT", args.context)
      .number("ROWS", std::bit_ceil(args.max_rows))
      .number("IDS_STRIDE", kMaxBatch)
      .number("NO_TOKEN", static_cast<uint32_t>(kNoToken))
      .number("CHOSEN_STEPS", kChosenSteps)
      .number("WG", kWorkgroup)
      .number("WHOLE_TOKENS", kWholeTokens)
      .number("SPLIT_TOKENS", kSplitTokens)
      .grid({})
      .add_to(out);
  return {};
}

}  // namespace puna::kernels
