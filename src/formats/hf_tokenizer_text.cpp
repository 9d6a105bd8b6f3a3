// The "normalizer", "pre_tokenizer" and "post_processor" of a tokenizer.json: how text is rewritten
// and cut into words, and what goes around it.
#include <algorithm>
#include <unordered_set>

#include "base/utf8.h"
#include "formats/hf_tokenizer_parts.h"
#include "tokenizer/pre_tokenizers.h"

namespace puna::formats::hf {

namespace {

using base::Json;
using base::Result;
using tokenizer::NormalizerStep;
using tokenizer::SpacePrefix;
using tokenizer::Vocabulary;
using tokenizer::WordSplit;
using Kind = NormalizerStep::Kind;

constexpr const char* kMark = "\u2581";

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

// A string as an expression that matches just it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("()|?*+{}.^$[]\\").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

struct Pattern {
  std::string text;
  bool is_expression = false;
};

Result<Pattern> read_pattern(const Json& part) {
  const Json* pattern = part.find("pattern");
  if (pattern && pattern->is_object() && pattern->members().size() == 1) {
    const auto& [kind, value] = pattern->members()[0];
    if (value.is_string() && (kind == "String" || kind == "Regex"))
      return Pattern{value.string(), kind == "Regex"};
  }
  return corrupt("a part without a pattern {\"String\" or \"Regex\": ...}.");
}

Result<void> read_bert_normalizer(const Json& part, std::vector<NormalizerStep>& steps) {
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

Result<void> read_replace(const Json& part, std::vector<NormalizerStep>& steps) {
  PUNA_TRY(const Pattern pattern, read_pattern(part));
  PUNA_TRY(std::string to, text(part, "content"));
  steps.push_back({pattern.is_expression ? Kind::kReplaceMatches : Kind::kReplace, pattern.text,
                   std::move(to)});
  return {};
}

Result<void> read_normalizer(const Json& part, std::vector<NormalizerStep>& steps) {
  constexpr std::pair<std::string_view, Kind> kPlain[] = {{"NFC", Kind::kNfc},
                                                          {"NFD", Kind::kNfd},
                                                          {"NFKC", Kind::kNfkc},
                                                          {"NFKD", Kind::kNfkd},
                                                          {"Lowercase", Kind::kLowercase},
                                                          {"StripAccents", Kind::kStripAccents}};
  PUNA_TRY(const std::string type, type_of(&part, "normalizer"));
  for (const auto& [name, kind] : kPlain) {
    if (type != name) continue;
    steps.push_back({kind});
    return {};
  }
  if (type == "BertNormalizer") return read_bert_normalizer(part, steps);
  if (type == "Replace") return read_replace(part, steps);
  if (type == "Prepend") {
    PUNA_TRY(std::string to, text(part, "prepend"));
    steps.push_back({Kind::kPrepend, {}, std::move(to)});
    return {};
  }
  if (type == "Strip") {
    PUNA_TRY(const bool left, flag(part, "strip_left", true));
    PUNA_TRY(const bool right, flag(part, "strip_right", true));
    if (left) steps.push_back({Kind::kStripLeft});
    if (right) steps.push_back({Kind::kStripRight});
    return {};
  }
  if (type == "Precompiled") {
    PUNA_TRY(const std::string coded, text(part, "precompiled_charsmap"));
    PUNA_TRY(std::string map, decode_base64(coded));
    if (!map.empty()) steps.push_back({Kind::kCharsmap, std::move(map)});
    return {};
  }
  return unsupported(fmt::format("the normalizer \"{}\", which is not supported.", type));
}

// What the pre-tokenizers of a file ask for together.
struct Words {
  std::vector<std::string> expressions;
  bool byte_level = false;
  bool byte_prefix = false;
  bool metaspace = false;
  bool white_space = false;
  bool bert = false;
  SpacePrefix prefix = SpacePrefix::kNever;
  bool split_at_marks = false;
};

bool is_known_expression(const std::string& expression) {
  const auto rules = tokenizer::pre_tokenizers();
  return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) {
    return rule.expressions.size() == 1 && rule.expressions[0] == expression;
  });
}

Result<void> read_split(const Json& part, Words& words) {
  PUNA_TRY(const Pattern pattern, read_pattern(part));
  PUNA_TRY(const std::string behavior, text(part, "behavior"));
  PUNA_TRY(const bool invert, flag(part, "invert", false));
  std::string expression = pattern.is_expression ? pattern.text : escaped(pattern.text);
  // The known expressions leave nothing between their matches, so keeping the matches alone is the
  // same as isolating them.
  const bool matches_only = behavior == "Removed" && invert && is_known_expression(expression);
  if ((behavior == "Isolated" && !invert) || matches_only) {
    words.expressions.push_back(std::move(expression));
    return {};
  }
  return unsupported(fmt::format(
      "the pre-tokenizer Split with the pattern \"{}\", behavior {}, invert {}, which is "
      "not supported (Isolated is).",
      pattern.text, behavior, invert));
}

Result<void> read_byte_level(const Json& part, Words& words) {
  PUNA_TRY(const bool use_regex, flag(part, "use_regex", true));
  PUNA_TRY(words.byte_prefix, flag(part, "add_prefix_space", true));
  if (words.byte_prefix && !words.expressions.empty())
    return unsupported(
        "a ByteLevel pre-tokenizer that puts a space in front of every word, which is "
        "not supported.");
  if (use_regex) {
    PUNA_TRY(const tokenizer::PreTokenizer* gpt2, tokenizer::find_pre_tokenizer("gpt-2"));
    words.expressions.emplace_back(gpt2->expressions[0]);
  }
  words.byte_level = true;
  return {};
}

Result<void> read_metaspace(const Json& part, Words& words) {
  PUNA_TRY(const std::string mark, text(part, "replacement", kMark));
  PUNA_TRY(const bool prefix, flag(part, "add_prefix_space", true));
  PUNA_TRY(const std::string scheme, text(part, "prepend_scheme", prefix ? "always" : "never"));
  PUNA_TRY(words.split_at_marks, flag(part, "split", true));
  if (mark != kMark)
    return unsupported(
        fmt::format("a Metaspace pre-tokenizer with the mark \"{}\", which is not "
                    "supported (U+2581 is).",
                    mark));
  if (scheme == "always") {
    words.prefix = SpacePrefix::kUnlessSpace;
  } else if (scheme == "first") {
    words.prefix = SpacePrefix::kFirstUnlessSpace;
  } else if (scheme != "never") {
    return unsupported(fmt::format("the prepend_scheme \"{}\", which is not supported.", scheme));
  }
  words.metaspace = true;
  return {};
}

Result<void> read_punctuation(const Json& part, Words& words) {
  PUNA_TRY(const std::string behavior, text(part, "behavior", "Isolated"));
  if (behavior != "Isolated" && behavior != "Contiguous")
    return unsupported(
        fmt::format("the pre-tokenizer Punctuation with behavior {}, which is not "
                    "supported.",
                    behavior));
  words.expressions.emplace_back(behavior == "Isolated" ? R"([\p{P}$+<=>^`|~])"
                                                        : R"([\p{P}$+<=>^`|~]+)");
  return {};
}

Result<void> read_pre_tokenizer(const Json& part, Words& words) {
  PUNA_TRY(const std::string type, type_of(&part, "pre_tokenizer"));
  if (words.byte_level || words.metaspace || words.bert)
    return unsupported(
        fmt::format("the pre-tokenizer {} after the last one that is supported.", type));
  if (type == "Split") return read_split(part, words);
  if (type == "ByteLevel") return read_byte_level(part, words);
  if (type == "Metaspace") return read_metaspace(part, words);
  if (type == "Punctuation") return read_punctuation(part, words);
  if (type == "Digits") {
    PUNA_TRY(const bool each, flag(part, "individual_digits", false));
    words.expressions.emplace_back(each ? R"(\p{N})" : R"(\p{N}+)");
    return {};
  }
  if (type == "WhitespaceSplit") {
    words.white_space = true;
    return {};
  }
  if (type == "BertPreTokenizer") {
    words.bert = true;
    return {};
  }
  return unsupported(fmt::format("the pre-tokenizer \"{}\", which is not supported.", type));
}

bool is_mark_step(const NormalizerStep& step) {
  return step == NormalizerStep{Kind::kReplace, " ", kMark};
}

// Llama's steps say in two normalizers what the model itself does: a mark in front, marks for
// spaces.
void take_mark_steps(Vocabulary& v) {
  auto& steps = v.normalizer;
  const NormalizerStep prepend{Kind::kPrepend, {}, kMark};
  for (bool again = true; again && !steps.empty();) {
    again = is_mark_step(steps.back());
    if (steps.back() == prepend && v.space_prefix == SpacePrefix::kNever) {
      v.space_prefix = SpacePrefix::kAlways;
      again = true;
    }
    if (again) steps.pop_back();
  }
}

// Whether every byte has a token, as GPT-2 writes bytes: printable Latin-1, the others from U+0100
// on.
bool has_all_bytes(const Vocabulary& v) {
  const std::unordered_set<std::string_view> tokens(v.tokens.begin(), v.tokens.end());
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    std::string written;
    base::utf8_append(written, printable ? byte : next++);
    if (!tokens.contains(written)) return false;
  }
  return true;
}

Result<void> finish_byte_level(Words words, Vocabulary& v) {
  v.model = "gpt2";
  v.space_prefix = words.byte_prefix ? SpacePrefix::kUnlessSpace : SpacePrefix::kNever;
  const bool nfc = v.normalizer == std::vector<NormalizerStep>{{Kind::kNfc}};
  const auto* rule = tokenizer::recognise_pre_tokenizer(words.expressions, v.whole_words, nfc);
  if (rule) {
    if (nfc) v.normalizer.clear();
  } else {
    rule = tokenizer::recognise_pre_tokenizer(words.expressions, v.whole_words, /*nfc=*/false);
  }
  if (rule) {
    v.pre = rule->name;
    v.whole_words = false;
  } else {
    v.pre = tokenizer::kCustomPre;
    v.splits = std::move(words.expressions);
  }
  if (v.unk && !has_all_bytes(v))
    return unsupported(
        "a byte-level model with an unk_token for bytes that it lacks, which is not "
        "supported.");
  return {};
}

// Scores that order pieces as the merges do, for readers that know only scores.
void score_by_merges(Vocabulary& v) {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < v.tokens.size(); ++id) ids.emplace(v.tokens[id], id);
  v.scores.assign(v.tokens.size(), 0.0f);
  std::string joined;
  for (size_t rank = v.merges.size(); rank-- > 0;) {
    joined = v.merges[rank];
    const size_t space = joined.find(' ');
    if (space == std::string::npos) continue;
    joined.erase(space, 1);
    if (const auto it = ids.find(joined); it != ids.end())
      v.scores[it->second] = -static_cast<float>(rank + 1);
  }
}

Result<void> finish_marked(const Words& words, Vocabulary& v) {
  if (v.whole_words)
    return unsupported("ignore_merges in a model without ByteLevel, which is not supported.");
  if (!words.expressions.empty() || words.white_space)
    return unsupported(
        "pre-tokenizers besides Metaspace for a BPE model without ByteLevel, which are not "
        "supported.");
  v.model = v.space_prefix == SpacePrefix::kNever ? "gemma4" : "llama";
  if (v.model == "llama") score_by_merges(v);
  return {};
}

Result<void> finish_bpe(Words words, bool marks, Vocabulary& v) {
  if (words.byte_level) return finish_byte_level(std::move(words), v);
  if (marks || words.metaspace) return finish_marked(words, v);
  return unsupported(
      "a BPE model whose text is neither bytes (ByteLevel) nor has marks for spaces (Metaspace or "
      "Replace), which is not supported.");
}

// Pieces as GGUF writes them: marked at the beginning of a word, bare ("ing" for "##ing") inside
// one.
void mark_word_pieces(Vocabulary& v) {
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    if (v.types[id] != tokenizer::TokenType::kNormal) continue;
    std::string& token = v.tokens[id];
    if (token.size() > 2 && token.starts_with("##")) {
      token.erase(0, 2);
    } else {
      token.insert(0, kMark);
    }
  }
}

struct Frame {
  std::optional<int32_t> before, after;
};

Result<void> apply(const Frame& frame, Vocabulary& v) {
  const auto n = static_cast<int32_t>(v.tokens.size());
  for (const auto& id : {frame.before, frame.after}) {
    if (id && (*id < 0 || *id >= n))
      return corrupt(
          fmt::format("the token {} in its post_processor, outside its vocabulary of {}.", *id, n));
  }
  if (frame.before) {
    v.bos = frame.before;
    v.add_bos = true;
  }
  if (frame.after) {
    v.eos = frame.after;
    v.add_eos = true;
  }
  return {};
}

Result<int32_t> template_id(const Json& part, const std::string& name) {
  const Json* tokens = part.find("special_tokens");
  const Json* token = tokens ? tokens->find(name) : nullptr;
  const Json* ids = token ? token->find("ids") : nullptr;
  if (!ids || !ids->is_array() || ids->items().size() != 1 || !ids->items()[0].is_integer())
    return corrupt(fmt::format("no single id for \"{}\" in its TemplateProcessing.", name));
  const int64_t id = ids->items()[0].integer();
  return id < 0 || id > INT32_MAX ? -1 : static_cast<int32_t>(id);
}

Result<void> read_template(const Json& part, Vocabulary& v) {
  const Json* single = part.find("single");
  if (!single || !single->is_array())
    return corrupt("no list \"single\" in its TemplateProcessing.");
  Frame frame;
  bool text_seen = false;
  for (const Json& item : single->items()) {
    if (item.find("Sequence")) {
      text_seen = true;
      continue;
    }
    const Json* special = item.find("SpecialToken");
    if (!special) return corrupt("an item in its TemplateProcessing that is no token and no text.");
    PUNA_TRY(const std::string name, special->get_string("id"));
    auto& place = text_seen ? frame.after : frame.before;
    if (place)
      return unsupported(
          "more than one token before or after the text in its TemplateProcessing, which is not "
          "supported.");
    PUNA_TRY(place, template_id(part, name));
  }
  return apply(frame, v);
}

// ["[SEP]", 102]
Result<int32_t> pair_id(const Json& part, std::string_view key) {
  const Json* pair = part.find(key);
  if (!pair || !pair->is_array() || pair->items().size() != 2 || !pair->items()[1].is_integer())
    return corrupt(fmt::format("no \"{}\" in its post_processor.", key));
  const int64_t id = pair->items()[1].integer();
  return id < 0 || id > INT32_MAX ? -1 : static_cast<int32_t>(id);
}

}  // namespace

Result<void> read_text_steps(const Json* normalizer, const Json* pre_tokenizer, Vocabulary& v) {
  PUNA_TRY(const auto steps, flatten(normalizer, "normalizers"));
  for (const Json* part : steps) PUNA_TRY(read_normalizer(*part, v.normalizer));
  const bool marks = std::any_of(v.normalizer.begin(), v.normalizer.end(), is_mark_step);

  PUNA_TRY(const auto parts, flatten(pre_tokenizer, "pretokenizers"));
  Words words;
  for (const Json* part : parts) {
    // Gemma's file cuts at spaces when its normalizer has left none.
    const Json* pattern = part->find("pattern");
    if (marks && pattern && pattern->find("String") && pattern->find("String")->is_string() &&
        pattern->find("String")->string() == " ")
      continue;
    PUNA_TRY(read_pre_tokenizer(*part, words));
  }
  v.space_prefix = words.prefix;
  v.word_split = words.white_space      ? WordSplit::kWhiteSpace
                 : words.split_at_marks ? WordSplit::kSpaces
                                        : WordSplit::kNone;
  if (v.model == "bpe") {
    if (!words.byte_level) take_mark_steps(v);
    return finish_bpe(std::move(words), marks, v);
  }
  if (v.model == "bert") {
    if (words.bert && words.expressions.empty()) {
      v.space_prefix = SpacePrefix::kAlways;
      mark_word_pieces(v);
      return {};
    }
    return unsupported(
        "a WordPiece model without the pre-tokenizer BertPreTokenizer alone, which "
        "is not supported.");
  }
  if (words.expressions.empty() && (words.metaspace || parts.empty())) {
    take_mark_steps(v);
    return {};
  }
  return unsupported(
      "a Unigram model with pre-tokenizers besides WhitespaceSplit and Metaspace, "
      "which is not supported.");
}

Result<void> read_post_processor(const Json* part, Vocabulary& v) {
  PUNA_TRY(const auto parts, flatten(part, "processors"));
  for (const Json* one : parts) {
    PUNA_TRY(const std::string type, type_of(one, "post_processor"));
    if (type == "TemplateProcessing") {
      PUNA_TRY(read_template(*one, v));
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      Frame frame;
      PUNA_TRY(frame.before, pair_id(*one, "cls"));
      PUNA_TRY(frame.after, pair_id(*one, "sep"));
      PUNA_TRY(apply(frame, v));
    } else if (type != "ByteLevel") {  // which only moves offsets
      return unsupported(fmt::format("the post_processor \"{}\", which is not supported.", type));
    }
  }
  return {};
}

}  // namespace puna::formats::hf
