#include "tokenizer/pipeline/pre_tokenize.h"

#include <algorithm>

#include "tokenizer/byte_map.h"
#include "tokenizer/normal_form.h"
#include "tokenizer/pipeline/scripts.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/regex/char_set.h"
#include "tokenizer/white_space.h"

namespace puna::tokenizer {

namespace {

using Kind = PreTokenizerStep::Kind;

bool is_punctuation(char32_t c) { return (text_flags(c) & detail::kBertPunctuation) != 0; }

bool is_number(char32_t c) {
  static const CharSet kNumbers = CharSet::named("rust:numeric").value_or(CharSet());
  return kNumbers.contains(c);
}

bool is_word(char32_t c) {
  static const CharSet kWord = CharSet::named("rust:word").value_or(CharSet());
  return kWord.contains(c);
}

// Runs of word characters, runs of others; white space is no match.
std::vector<MatchSpan> word_spans(std::string_view text) {
  enum Class { kSpace, kWord, kOther };
  std::vector<MatchSpan> out;
  Class last = kSpace;
  for (size_t at = 0; at < text.size();) {
    const base::Utf8Unit unit = base::utf8_next(text, at);
    const Class now = is_white_space(unit.code_point) ? kSpace
                      : is_word(unit.code_point)      ? kWord
                                                      : kOther;
    if (out.empty() || now != last) out.push_back({at, at, now != kSpace});
    at += unit.bytes;
    out.back().end = at;
    last = now;
  }
  return out;
}

// A cut wherever the script changes. As in the library, what goes with any script is lost at the
// beginning.
std::vector<MatchSpan> script_spans(std::string_view text) {
  std::vector<MatchSpan> out;
  int last = kAnyScript;
  for (size_t at = 0; at < text.size();) {
    const base::Utf8Unit unit = base::utf8_next(text, at);
    const int script = script_of(unit.code_point);
    if (script != kAnyScript && script != last) out.push_back({at, at, false});
    at += unit.bytes;
    if (!out.empty()) out.back().end = at;
    if (script != kAnyScript) last = script;
  }
  return out;
}

std::vector<MatchSpan> length_spans(std::string_view text, uint32_t length) {
  std::vector<MatchSpan> out;
  uint32_t n = 0;
  for (size_t at = 0; at < text.size(); ++n) {
    if (n % length == 0) out.push_back({at, at, false});
    at += base::utf8_next(text, at).bytes;
    out.back().end = at;
  }
  return out;
}

void replace_spaces(std::string& text, std::string_view mark) {
  std::string out;
  for (const char c : text) {
    if (c == ' ') {
      out.append(mark);
    } else {
      out.push_back(c);
    }
  }
  text = std::move(out);
}

}  // namespace

base::Result<PreTokenizers> PreTokenizers::compile(std::span<const PreTokenizerStep> steps) {
  PreTokenizers out;
  for (const PreTokenizerStep& what : steps) {
    Step step{what, {}};
    if (what.kind == Kind::kSplit) {
      PUNA_TRY(auto pattern, Pattern::compile(what.text, what.expression));
      step.pattern.push_back(std::move(pattern));
    } else if (what.kind == Kind::kByteLevel && what.expression) {
      PUNA_TRY(const PreTokenizer* gpt2, find_pre_tokenizer("gpt-2"));
      PUNA_TRY(auto pattern, Pattern::compile(gpt2->expressions[0], true));
      step.pattern.push_back(std::move(pattern));
    } else if (what.kind == Kind::kMetaspace && what.split) {
      PUNA_TRY(auto pattern, Pattern::compile(what.text, false));
      step.pattern.push_back(std::move(pattern));
    }
    out.steps_.push_back(std::move(step));
  }
  return out;
}

void PreTokenizers::apply(const Step& step, Piece piece, std::vector<Piece>& out) {
  const PreTokenizerStep& what = step.what;
  std::string& text = piece.text;
  const auto keep = [&](const std::vector<MatchSpan>& spans, SplitBehavior behavior) {
    for (const auto& [begin, end] : pieces_of(spans, behavior))
      out.push_back({text.substr(begin, end - begin), piece.at_start && begin == 0});
  };
  const auto inverted = [](std::vector<MatchSpan> spans) {
    for (MatchSpan& span : spans) span.match = !span.match;
    return spans;
  };
  switch (what.kind) {
    case Kind::kSplit: {
      auto spans = step.pattern[0].spans(text);
      return keep(what.invert ? inverted(std::move(spans)) : std::move(spans), what.behavior);
    }
    case Kind::kByteLevel: {
      if (what.prefix != SpacePrefix::kNever && !text.starts_with(' ')) text.insert(0, 1, ' ');
      const size_t first = out.size();
      if (step.pattern.empty()) {
        out.push_back(std::move(piece));
      } else {
        keep(step.pattern[0].spans(text), SplitBehavior::kIsolated);
      }
      for (size_t i = first; i < out.size(); ++i) out[i].text = mapped_bytes(out[i].text);
      return;
    }
    case Kind::kMetaspace: {
      replace_spaces(text, what.text);
      const bool asked = what.prefix == SpacePrefix::kUnlessSpace ||
                         (what.prefix == SpacePrefix::kFirstUnlessSpace && piece.at_start);
      if (asked && !text.starts_with(what.text)) text.insert(0, what.text);
      if (!what.split) return out.push_back(std::move(piece));
      return keep(step.pattern[0].spans(text), SplitBehavior::kMergedWithNext);
    }
    case Kind::kWhitespace:
      return keep(inverted(word_spans(text)), SplitBehavior::kRemoved);
    case Kind::kWhitespaceSplit:
      return keep(spans_of(text, is_white_space), SplitBehavior::kRemoved);
    case Kind::kPunctuation:
      return keep(spans_of(text, is_punctuation), what.behavior);
    case Kind::kDigits:
      return keep(spans_of(text, is_number), what.behavior);
    case Kind::kBert:
      for (const auto& [begin, end] :
           pieces_of(spans_of(text, is_white_space), SplitBehavior::kRemoved)) {
        const std::string word = text.substr(begin, end - begin);
        for (const auto& [from, to] :
             pieces_of(spans_of(word, is_punctuation), SplitBehavior::kIsolated))
          out.push_back({word.substr(from, to - from), piece.at_start && begin + from == 0});
      }
      return;
    case Kind::kUnicodeScripts:
      return keep(script_spans(text), SplitBehavior::kIsolated);
    case Kind::kFixedLength:
      return keep(length_spans(text, what.length), SplitBehavior::kIsolated);
  }
}

std::vector<std::string> PreTokenizers::cut(std::string_view text, bool at_start) const {
  std::vector<Piece> pieces, next;
  pieces.push_back({std::string(text), at_start});
  for (const Step& step : steps_) {
    next.clear();
    for (Piece& piece : pieces) apply(step, std::move(piece), next);
    pieces.swap(next);
  }
  std::vector<std::string> words;
  words.reserve(pieces.size());
  for (Piece& piece : pieces) words.push_back(std::move(piece.text));
  return words;
}

}  // namespace puna::tokenizer
