// The "decoder" of a tokenizer.json.
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::DecoderStep;
using Kind = DecoderStep::Kind;
using Steps = std::vector<DecoderStep>;

template <Kind kind>
Result<void> plain(const Json&, Steps& steps) {
  steps.push_back({.kind = kind});
  return {};
}

Result<void> metaspace(const Json& part, Steps& steps) {
  DecoderStep step{.kind = Kind::kMetaspace};
  PUNA_TRY(step.from, text(part, "replacement", "\u2581"));
  PUNA_TRY(const bool prefix, flag(part, "add_prefix_space", true));
  PUNA_TRY(const std::string scheme, text(part, "prepend_scheme", prefix ? "always" : "never"));
  step.prefix = scheme != "never";
  steps.push_back(std::move(step));
  return {};
}

Result<void> word_piece(const Json& part, Steps& steps) {
  DecoderStep step{.kind = Kind::kWordPiece};
  PUNA_TRY(step.from, text(part, "prefix", "##"));
  PUNA_TRY(step.clean_up, flag(part, "cleanup", true));
  steps.push_back(std::move(step));
  return {};
}

Result<void> bpe(const Json& part, Steps& steps) {
  DecoderStep step{.kind = Kind::kBpe};
  PUNA_TRY(step.from, text(part, "suffix", "</w>"));
  steps.push_back(std::move(step));
  return {};
}

Result<void> ctc(const Json& part, Steps& steps) {
  DecoderStep step{.kind = Kind::kCtc};
  PUNA_TRY(step.from, text(part, "pad_token", "<pad>"));
  PUNA_TRY(step.to, text(part, "word_delimiter_token", "|"));
  PUNA_TRY(step.clean_up, flag(part, "cleanup", true));
  steps.push_back(std::move(step));
  return {};
}

Result<void> strip(const Json& part, Steps& steps) {
  DecoderStep step{.kind = Kind::kStrip};
  PUNA_TRY(step.from, text(part, "content"));
  if (step.from.empty()) return corrupt("a Strip decoder without content.");
  PUNA_TRY(step.start, count(part, "start", 0));
  PUNA_TRY(step.stop, count(part, "stop", 0));
  steps.push_back(std::move(step));
  return {};
}

Result<void> replace(const Json& part, Steps& steps) {
  PUNA_TRY(PatternText pattern, read_pattern(part));
  DecoderStep step{.kind = Kind::kReplace, .expression = pattern.is_expression};
  step.from = std::move(pattern.text);
  PUNA_TRY(step.to, text(part, "content"));
  steps.push_back(std::move(step));
  return {};
}

constexpr Component<Steps> kDecoders[] = {
    {"ByteLevel", plain<Kind::kByteLevel>},
    {"ByteFallback", plain<Kind::kByteFallback>},
    {"Fuse", plain<Kind::kFuse>},
    {"Metaspace", metaspace},
    {"WordPiece", word_piece},
    {"BPEDecoder", bpe},
    {"CTC", ctc},
    {"Strip", strip},
    {"Replace", replace},
};

}  // namespace

Result<void> read_decoder(const Json* part, tokenizer::Pipeline& pipeline) {
  PUNA_TRY(const auto parts, flatten(part, "decoders"));
  pipeline.has_decoder = part && !part->is_null();
  return read_components<Steps>(parts, "decoder", kDecoders, pipeline.decoder);
}

}  // namespace puna::formats::hf
