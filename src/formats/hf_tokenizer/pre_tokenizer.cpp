// The "pre_tokenizer" of a tokenizer.json.
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::PreTokenizerStep;
using tokenizer::SpacePrefix;
using tokenizer::SplitBehavior;
using Kind = PreTokenizerStep::Kind;
using Steps = std::vector<PreTokenizerStep>;

Result<SplitBehavior> behavior(const Json& part, std::string_view otherwise) {
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  PUNA_TRY(const std::string name, text(part, "behavior", otherwise));
  for (const auto& [known, value] : kNames) {
    if (name == known) return value;
  }
  return unsupported(
      fmt::format("a pre-tokenizer with the behavior \"{}\", which is not "
                  "supported.",
                  name));
}

template <Kind kind>
Result<void> plain(const Json&, Steps& steps) {
  steps.push_back({.kind = kind});
  return {};
}

Result<void> split(const Json& part, Steps& steps) {
  PUNA_TRY(PatternText pattern, read_pattern(part));
  PreTokenizerStep step{.kind = Kind::kSplit};
  PUNA_TRY(step.behavior, behavior(part, ""));
  PUNA_TRY(step.invert, flag(part, "invert", false));
  step.expression = pattern.is_expression;
  step.text = std::move(pattern.text);
  steps.push_back(std::move(step));
  return {};
}

Result<void> delimiter(const Json& part, Steps& steps) {
  PreTokenizerStep step{.kind = Kind::kSplit, .behavior = SplitBehavior::kRemoved};
  PUNA_TRY(step.text, text(part, "delimiter"));
  if (step.text.empty()) return corrupt("a CharDelimiterSplit without a delimiter.");
  steps.push_back(std::move(step));
  return {};
}

Result<void> byte_level(const Json& part, Steps& steps) {
  PreTokenizerStep step{.kind = Kind::kByteLevel};
  PUNA_TRY(step.expression, flag(part, "use_regex", true));
  PUNA_TRY(const bool prefix, flag(part, "add_prefix_space", true));
  if (prefix) step.prefix = SpacePrefix::kUnlessSpace;
  steps.push_back(std::move(step));
  return {};
}

Result<void> metaspace(const Json& part, Steps& steps) {
  PreTokenizerStep step{.kind = Kind::kMetaspace};
  PUNA_TRY(step.text, text(part, "replacement", "\u2581"));
  if (step.text.empty()) return corrupt("a Metaspace without a replacement.");
  PUNA_TRY(const bool prefix, flag(part, "add_prefix_space", true));
  PUNA_TRY(const std::string scheme, text(part, "prepend_scheme", prefix ? "always" : "never"));
  PUNA_TRY(step.split, flag(part, "split", true));
  if (scheme == "always") {
    step.prefix = SpacePrefix::kUnlessSpace;
  } else if (scheme == "first") {
    step.prefix = SpacePrefix::kFirstUnlessSpace;
  } else if (scheme != "never") {
    return unsupported(fmt::format("the prepend_scheme \"{}\", which is not supported.", scheme));
  }
  steps.push_back(std::move(step));
  return {};
}

Result<void> punctuation(const Json& part, Steps& steps) {
  PreTokenizerStep step{.kind = Kind::kPunctuation};
  PUNA_TRY(step.behavior, behavior(part, "Isolated"));
  steps.push_back(std::move(step));
  return {};
}

Result<void> digits(const Json& part, Steps& steps) {
  PUNA_TRY(const bool each, flag(part, "individual_digits", false));
  steps.push_back({.kind = Kind::kDigits,
                   .behavior = each ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
  return {};
}

Result<void> fixed_length(const Json& part, Steps& steps) {
  PreTokenizerStep step{.kind = Kind::kFixedLength};
  PUNA_TRY(step.length, count(part, "length", 5));
  if (step.length == 0) return corrupt("a FixedLength of 0 characters.");
  steps.push_back(std::move(step));
  return {};
}

constexpr Component<Steps> kPreTokenizers[] = {
    {"Split", split},
    {"CharDelimiterSplit", delimiter},
    {"ByteLevel", byte_level},
    {"Metaspace", metaspace},
    {"Whitespace", plain<Kind::kWhitespace>},
    {"WhitespaceSplit", plain<Kind::kWhitespaceSplit>},
    {"Punctuation", punctuation},
    {"Digits", digits},
    {"BertPreTokenizer", plain<Kind::kBert>},
    {"UnicodeScripts", plain<Kind::kUnicodeScripts>},
    {"FixedLength", fixed_length},
};

}  // namespace

Result<void> read_pre_tokenizer(const Json* part, Steps& steps) {
  PUNA_TRY(const auto parts, flatten(part, "pretokenizers"));
  return read_components<Steps>(parts, "pre-tokenizer", kPreTokenizers, steps);
}

}  // namespace puna::formats::hf
