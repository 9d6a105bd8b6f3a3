// The files that a quicker model than the general pipeline says: byte-level BPE ("gpt2"), BPE with
// marks for spaces ("llama", "gemma4"), Unigram ("t5"), WordPiece ("bert"). Each condition here is
// one under which both give the same ids; whatever is not met leaves the file to the pipeline.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/utf8.h"
#include "formats/hf_tokenizer/parts.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/split.h"

namespace puna::formats::hf {

namespace {

using tokenizer::DecoderStep;
using tokenizer::NormalizerStep;
using tokenizer::Pipeline;
using tokenizer::PreTokenizerStep;
using tokenizer::SpacePrefix;
using tokenizer::SplitBehavior;
using tokenizer::TokenType;
using tokenizer::Vocabulary;
using tokenizer::WordSplit;
using Step = PreTokenizerStep::Kind;
using Kind = NormalizerStep::Kind;

constexpr const char* kMark = "\u2581";

// A string as an expression that matches just it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("()|?*+{}.^$[]\\").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

// Decoding by pieces is what the file asks for, or it does not say.
bool decodes_by_pieces(const Pipeline& p, std::initializer_list<DecoderStep::Kind> expected) {
  return std::all_of(p.decoder.begin(), p.decoder.end(), [&](const DecoderStep& step) {
    const bool known = std::find(expected.begin(), expected.end(), step.kind) != expected.end();
    if (step.kind == DecoderStep::Kind::kReplace)
      return known && !step.expression && step.from == kMark && step.to == " ";
    if (step.kind == DecoderStep::Kind::kMetaspace) return known && step.from == kMark;
    if (step.kind == DecoderStep::Kind::kStrip)
      return known && step.from == " " && step.start <= 1 && step.stop == 0;
    if (step.kind == DecoderStep::Kind::kWordPiece) return known && step.from == "##";
    return known;
  });
}

// Whether every byte has a token, as GPT-2 writes bytes.
bool has_all_mapped_bytes(const Vocabulary& v) {
  const std::unordered_set<std::string_view> tokens(v.tokens.begin(), v.tokens.end());
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (!tokens.contains(tokenizer::mapped_bytes({&c, 1}))) return false;
  }
  return true;
}
// The same for the byte tokens of SentencePiece's models, "<0x00>" to "<0xFF>".
bool has_all_byte_tokens(const Vocabulary& v) {
  const std::unordered_set<std::string_view> tokens(v.tokens.begin(), v.tokens.end());
  for (int byte = 0; byte < 256; ++byte) {
    if (!tokens.contains(fmt::format("<0x{:02X}>", byte))) return false;
  }
  return true;
}
void mark_bytes(Vocabulary& v) {
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    const std::string& token = v.tokens[id];
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
    if (token.size() == 6 && token.starts_with("<0x") && token[5] == '>' && is_hex(token[3]) &&
        is_hex(token[4]))
      v.types[id] = TokenType::kByte;
  }
}

// The quicker models make no text of added tokens, and know the places of pieces by their bytes: no
// merge may have an added token in it, nor a single character be one.
bool merges_are_plain(const Vocabulary& v, const Pipeline& p) {
  if (!p.inside_prefix.empty() || !p.end_suffix.empty()) return false;
  std::unordered_set<std::string_view> added;
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    if (v.types[id] == TokenType::kNormal) continue;
    const std::string_view token = v.tokens[id];
    if (p.in_model[id] && base::utf8_next(token, 0).bytes == token.size()) return false;
    added.insert(token);
  }
  std::string joined;
  for (const auto& [left, right] : p.merges) {
    joined = left + right;
    if (added.contains(left) || added.contains(right) || added.contains(joined)) return false;
    if (left.find(' ') != std::string::npos || right.find(' ') != std::string::npos) return false;
  }
  return true;
}

// Merges as lines; of a pair that is listed twice the last one counts.
void take_merges(const Pipeline& p, Vocabulary& v) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (size_t rank = p.merges.size(); rank-- > 0;) {
    const auto& [left, right] = p.merges[rank];
    if (seen.emplace(left, right).second) v.merges.push_back(left + ' ' + right);
  }
  std::reverse(v.merges.begin(), v.merges.end());
}

bool compiles(const std::string& expression) {
  return tokenizer::SplitExpression::compile(expression).has_value();
}

bool is_known_expression(const std::string& expression) {
  const auto rules = tokenizer::pre_tokenizers();
  return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) {
    return rule.expressions.size() == 1 && rule.expressions[0] == expression;
  });
}

// The expressions of steps that end with ByteLevel; nothing where a step is none.
std::optional<std::vector<std::string>> byte_level_expressions(const Pipeline& p) {
  if (p.steps.empty() || p.steps.size() > tokenizer::kMostExpressions) return {};
  std::vector<std::string> out;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const PreTokenizerStep& step = p.steps[i];
    const bool last = i + 1 == p.steps.size();
    if ((step.kind == Step::kByteLevel) != last) return {};
    if (step.kind == Step::kByteLevel) {
      if (step.prefix != SpacePrefix::kNever && i > 0) return {};
      const auto gpt2 = tokenizer::find_pre_tokenizer("gpt-2");
      if (step.expression && gpt2) out.emplace_back((*gpt2)->expressions[0]);
      continue;
    }
    if (step.kind == Step::kDigits) {
      out.emplace_back(step.behavior == SplitBehavior::kIsolated ? R"(\p{N})" : R"(\p{N}+)");
      continue;
    }
    if (step.kind != Step::kSplit || step.text.empty()) return {};
    std::string expression = step.expression ? step.text : escaped(step.text);
    // The known expressions leave nothing between their matches, so keeping the matches alone is
    // the same as isolating them.
    const bool isolated = step.behavior == SplitBehavior::kIsolated && !step.invert;
    const bool matches_only =
        step.behavior == SplitBehavior::kRemoved && step.invert && is_known_expression(expression);
    if ((!isolated && !matches_only) || !compiles(expression)) return {};
    out.push_back(std::move(expression));
  }
  return out;
}

bool take_byte_level(Vocabulary& v, const Pipeline& p) {
  auto expressions = byte_level_expressions(p);
  if (!expressions || !merges_are_plain(v, p) ||
      !decodes_by_pieces(p, {DecoderStep::Kind::kByteLevel}))
    return false;
  if ((v.unk || p.byte_fallback) && !has_all_mapped_bytes(v)) return false;
  v.model = "gpt2";
  v.space_prefix = p.steps.back().prefix;
  take_merges(p, v);
  const bool nfc = v.normalizer == std::vector<NormalizerStep>{{Kind::kNfc}};
  const auto* rule = tokenizer::recognise_pre_tokenizer(*expressions, p.whole_words, nfc);
  if (rule) {
    if (nfc) v.normalizer.clear();
  } else {
    rule = tokenizer::recognise_pre_tokenizer(*expressions, p.whole_words, /*nfc=*/false);
  }
  if (rule) {
    v.pre = rule->name;
  } else {
    v.pre = tokenizer::kCustomPre;
    v.splits = *std::move(expressions);
    v.whole_words = p.whole_words;
  }
  return true;
}

const NormalizerStep kMarkStep{Kind::kReplace, " ", kMark};
const NormalizerStep kPrefixStep{Kind::kPrepend, {}, kMark};

// What two normalizers at the end of Llama's and Gemma's files say, the model does itself: a mark
// in front, marks for spaces. Takes them off; false where other steps stand there.
bool take_mark_steps(std::vector<NormalizerStep>& steps, SpacePrefix& prefix) {
  if (steps.empty()) return false;
  prefix = SpacePrefix::kNever;
  bool marks = false;
  for (int i = 0; i < 2 && !steps.empty(); ++i) {
    if (steps.back() == kMarkStep && !marks) {
      marks = true;
    } else if (steps.back() == kPrefixStep && prefix == SpacePrefix::kNever) {
      prefix = SpacePrefix::kAlways;
    } else {
      break;
    }
    steps.pop_back();
  }
  return marks;
}

// How spaces are marked and words cut, of files that do so the way SentencePiece does.
struct Marks {
  std::vector<NormalizerStep> normalizer;
  SpacePrefix prefix = SpacePrefix::kNever;
  WordSplit split = WordSplit::kNone;
};

std::optional<Marks> read_marks(const Vocabulary& v, const Pipeline& p) {
  Marks out;
  out.normalizer = v.normalizer;
  const bool by_normalizer = take_mark_steps(out.normalizer, out.prefix);
  size_t i = 0;
  if (i < p.steps.size() && p.steps[i].kind == Step::kWhitespaceSplit) {
    out.split = WordSplit::kWhiteSpace;
    ++i;
  }
  if (i == p.steps.size())
    return by_normalizer && out.split == WordSplit::kNone ? std::optional(out) : std::nullopt;
  const PreTokenizerStep& last = p.steps[i];
  if (i + 1 < p.steps.size()) return {};
  // Gemma's file cuts at spaces when its normalizer has left none.
  if (by_normalizer && i == 0 && last.kind == Step::kSplit && !last.expression && !last.invert &&
      last.text == " ")
    return out;
  if (by_normalizer || last.kind != Step::kMetaspace || last.text != kMark) return {};
  out.prefix = last.prefix;
  if (last.split && out.split == WordSplit::kNone) out.split = WordSplit::kSpaces;
  // Words without white space are not cut further, so "split" says nothing then.
  return out;
}

// Scores that order pieces as the merges do, for readers that know only scores.
void score_by_merges(Vocabulary& v, const Pipeline& p) {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < v.tokens.size(); ++id) ids.emplace(v.tokens[id], id);
  v.scores.assign(v.tokens.size(), 0.0f);
  for (size_t rank = p.merges.size(); rank-- > 0;) {
    const auto it = ids.find(p.merges[rank].first + p.merges[rank].second);
    if (it != ids.end()) v.scores[it->second] = -static_cast<float>(rank + 1);
  }
}

constexpr auto kMarkDecoders = {DecoderStep::Kind::kReplace, DecoderStep::Kind::kByteFallback,
                                DecoderStep::Kind::kFuse, DecoderStep::Kind::kStrip,
                                DecoderStep::Kind::kMetaspace};

// Inside the quicker models pieces and texts have plain spaces for marks.
bool has_plain_spaces(const Vocabulary& v) {
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    if (v.types[id] == TokenType::kControl || v.types[id] == TokenType::kUnknown) continue;
    if (v.tokens[id].find(' ') != std::string::npos) return true;
  }
  return false;
}

bool take_marked_bpe(Vocabulary& v, const Pipeline& p) {
  auto marks = read_marks(v, p);
  if (!marks || marks->split == WordSplit::kWhiteSpace || p.whole_words || p.merges.empty() ||
      !merges_are_plain(v, p) || has_plain_spaces(v) || !decodes_by_pieces(p, kMarkDecoders))
    return false;
  const bool bytes = p.byte_fallback && has_all_byte_tokens(v);
  const bool unknowns = !p.byte_fallback && v.unk && p.fuse_unknown;
  if (!bytes && !unknowns) return false;
  if (bytes) mark_bytes(v);
  v.normalizer = std::move(marks->normalizer);
  v.space_prefix = marks->prefix;
  v.word_split = marks->split;
  v.model = v.space_prefix == SpacePrefix::kNever ? "gemma4" : "llama";
  take_merges(p, v);
  if (v.model == "llama") score_by_merges(v, p);
  return true;
}

bool take_unigram(Vocabulary& v, const Pipeline& p) {
  auto marks = read_marks(v, p);
  const bool plain = p.steps.empty() && !marks;
  if ((!marks && !plain) || !v.unk || has_plain_spaces(v) || !decodes_by_pieces(p, kMarkDecoders) ||
      (p.byte_fallback && !has_all_byte_tokens(v)))
    return false;
  // Without a step text may have spaces that are no marks, which pieces cannot tell apart here.
  if (plain) return false;
  std::unordered_set<std::string_view> seen;
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    if (!p.in_model[id]) continue;
    const bool plain_token = v.types[id] == TokenType::kNormal;
    if (!seen.insert(v.tokens[id]).second || v.tokens[id].empty() || v.scores[id] > 0) return false;
    if (v.types[id] == TokenType::kUserDefined) return false;
    if (plain_token && v.unk == static_cast<int32_t>(id)) return false;
  }
  for (const auto& rules : v.rules) {
    if (rules.single_word && p.in_model[static_cast<size_t>(rules.id)]) return false;
    // A mark in front of all text is part of such a token too.
    if (rules.normalized && marks->prefix == SpacePrefix::kAlways) return false;
  }
  if (p.byte_fallback) mark_bytes(v);
  v.model = "t5";
  v.normalizer = std::move(marks->normalizer);
  v.space_prefix = marks->prefix;
  v.word_split = marks->split;
  return true;
}

bool take_word_piece(Vocabulary& v, const Pipeline& p) {
  const bool bert = p.steps.size() == 1 && p.steps[0].kind == Step::kBert;
  if (!bert || p.inside_prefix != "##" || p.most_characters != 100 ||
      !decodes_by_pieces(p, {DecoderStep::Kind::kWordPiece}))
    return false;
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    if (!p.in_model[id]) continue;
    if (v.types[id] == TokenType::kUserDefined || v.tokens[id].find(kMark) != std::string::npos ||
        v.tokens[id].find(' ') != std::string::npos || v.tokens[id].empty())
      return false;
  }
  v.model = "bert";
  v.space_prefix = SpacePrefix::kAlways;
  // Pieces as GGUF writes them: marked at the beginning of a word, bare ("ing" for "##ing") inside
  // one.
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    if (v.types[id] != TokenType::kNormal) continue;
    std::string& token = v.tokens[id];
    if (token.size() > 2 && token.starts_with("##")) {
      token.erase(0, 2);
    } else {
      token.insert(0, kMark);
    }
  }
  return true;
}

bool has_steps(const Vocabulary& v) {
  const auto rule = tokenizer::find_pre_tokenizer(v.pre);
  return !v.normalizer.empty() || (rule && (*rule)->nfc);
}

// Whether a text could hold both with characters in common.
bool overlap(std::string_view a, std::string_view b) {
  if (a.find(b) != std::string_view::npos || b.find(a) != std::string_view::npos) return true;
  for (size_t n = 1; n < std::min(a.size(), b.size()); ++n) {
    if (a.ends_with(b.substr(0, n)) || b.ends_with(a.substr(0, n))) return true;
  }
  return false;
}

// Without a normalizer normalized text is the text itself, so looking twice is looking once, unless
// what is looked for first hides what comes second.
void drop_normalized_rules(Vocabulary& v) {
  constexpr size_t kMostPairs = 4'000'000;
  std::vector<bool> normalized(v.tokens.size());
  for (const auto& rules : v.rules) normalized[static_cast<size_t>(rules.id)] = rules.normalized;
  std::vector<std::string_view> first, second;
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    const bool added = v.types[id] == TokenType::kControl || v.types[id] == TokenType::kUnknown ||
                       v.types[id] == TokenType::kUserDefined;
    if (added) (normalized[id] ? second : first).push_back(v.tokens[id]);
  }
  if (first.size() * second.size() > kMostPairs) return;
  for (const std::string_view a : first) {
    for (const std::string_view b : second) {
      if (overlap(a, b)) return;
    }
  }
  for (auto& rules : v.rules) rules.normalized = false;
  std::erase_if(v.rules,
                [](const auto& rules) { return rules == tokenizer::TokenRules{rules.id}; });
}

}  // namespace

bool take_quick_model(Vocabulary& v, const Pipeline& p) {
  switch (p.model) {
    case Pipeline::Model::kBpe:
      if (take_byte_level(v, p)) {
        if (!has_steps(v)) drop_normalized_rules(v);
        return true;
      }
      return take_marked_bpe(v, p);
    case Pipeline::Model::kUnigram:
      return take_unigram(v, p);
    case Pipeline::Model::kWordPiece:
      return take_word_piece(v, p);
    case Pipeline::Model::kWordLevel:
      return false;
  }
  return false;
}

}  // namespace puna::formats::hf
