// The "normalizer" of a tokenizer.json.
#include "formats/hf_tokenizer/parts.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::NormalizerStep;
using Kind = NormalizerStep::Kind;
using Steps = std::vector<NormalizerStep>;

template <Kind kind>
Result<void> plain(const Json&, Steps& steps) {
  steps.push_back({kind});
  return {};
}

Result<void> bert(const Json& part, Steps& steps) {
  PUNA_TRY(const bool clean, flag(part, "clean_text", true));
  PUNA_TRY(const bool chinese, flag(part, "handle_chinese_chars", true));
  PUNA_TRY(const bool lowercase, flag(part, "lowercase", true));
  PUNA_TRY(const bool accents, flag(part, "strip_accents", lowercase));
  if (clean) steps.push_back({Kind::kBertClean});
  if (chinese) steps.push_back({Kind::kBertChinese});
  if (accents) steps.push_back({Kind::kBertAccents});
  if (lowercase) steps.push_back({Kind::kLowercase});
  return {};
}

Result<void> replace(const Json& part, Steps& steps) {
  PUNA_TRY(PatternText pattern, read_pattern(part));
  PUNA_TRY(std::string to, text(part, "content"));
  // An empty string stands between all characters, as the empty expression does.
  const bool matches = pattern.is_expression || pattern.text.empty();
  steps.push_back(
      {matches ? Kind::kReplaceMatches : Kind::kReplace, std::move(pattern.text), std::move(to)});
  return {};
}

Result<void> prepend(const Json& part, Steps& steps) {
  PUNA_TRY(std::string to, text(part, "prepend"));
  steps.push_back({Kind::kPrepend, {}, std::move(to)});
  return {};
}

Result<void> strip(const Json& part, Steps& steps) {
  PUNA_TRY(const bool left, flag(part, "strip_left", true));
  PUNA_TRY(const bool right, flag(part, "strip_right", true));
  if (left) steps.push_back({Kind::kStripLeft});
  if (right) steps.push_back({Kind::kStripRight});
  return {};
}

Result<std::string> decode_base64(std::string_view coded) {
  std::string out;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : coded) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) return corrupt("a precompiled_charsmap that is no base64.");
    bits = bits << 6 | static_cast<uint32_t>(value);
    n_bits += 6;
    if (n_bits >= 8) out.push_back(static_cast<char>(bits >> (n_bits -= 8) & 0xFF));
  }
  return out;
}

Result<void> precompiled(const Json& part, Steps& steps) {
  PUNA_TRY(const std::string coded, text(part, "precompiled_charsmap"));
  PUNA_TRY(std::string map, decode_base64(coded));
  if (!map.empty()) steps.push_back({Kind::kPrecompiled, std::move(map)});
  return {};
}

constexpr Component<Steps> kNormalizers[] = {
    {"NFC", plain<Kind::kNfc>},
    {"NFD", plain<Kind::kNfd>},
    {"NFKC", plain<Kind::kNfkc>},
    {"NFKD", plain<Kind::kNfkd>},
    {"Lowercase", plain<Kind::kLowercase>},
    {"StripAccents", plain<Kind::kStripAccents>},
    {"Nmt", plain<Kind::kNmt>},
    {"ByteLevel", plain<Kind::kByteLevel>},
    {"BertNormalizer", bert},
    {"Replace", replace},
    {"Prepend", prepend},
    {"Strip", strip},
    {"Precompiled", precompiled},
};

}  // namespace

Result<void> read_normalizer(const Json* part, Steps& steps) {
  PUNA_TRY(const auto parts, flatten(part, "normalizers"));
  return read_components<Steps>(parts, "normalizer", kNormalizers, steps);
}

}  // namespace puna::formats::hf
