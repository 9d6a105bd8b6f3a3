#include "tokenizer/normalizer.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/normal_form.h"
#include "tokenizer/precompiled.h"
#include "tokenizer/white_space.h"

namespace puna::tokenizer {

namespace {

using Kind = NormalizerStep::Kind;

// Calls each(code point, bytes) for every character.
template <class Each>
void for_each_character(std::string_view text, Each&& each) {
  for (size_t at = 0; at < text.size();) {
    const base::Utf8Unit unit = base::utf8_next(text, at);
    each(unit.code_point, text.substr(at, unit.bytes));
    at += unit.bytes;
  }
}

// As BERT's authors have the ranges; two of them are not those of Unicode.
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
      {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return c >= 0x3400 && c <= 0x2FA1F &&
         std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](auto r) { return c >= r.first && c <= r.second; });
}

bool normalize(std::string_view text, NormalForm form, std::string& out) {
  if (normal_prefix(text, form) == text.size()) return false;
  append_normal(text, form, out);
  return true;
}

void lowercase(std::string_view text, std::string& out) {
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x80) {
      out.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c));
      ++at;
      continue;
    }
    const base::Utf8Unit unit = base::utf8_next(text, at);
    if (unit.code_point == base::kInvalidCodePoint) {
      out.push_back(c);
    } else {
      append_lower(unit.code_point, out);
    }
    at += unit.bytes;
  }
}

bool drop_flagged(std::string_view text, uint8_t flag, std::string& out) {
  const size_t before = out.size();
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if ((text_flags(c) & flag) == 0) out.append(bytes);
  });
  if (out.size() - before != text.size()) return true;
  out.resize(before);
  return false;
}

void bert_clean(std::string_view text, std::string& out) {
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (c - 0x20 < 0x5F) return out.push_back(bytes[0]);
    if ((text_flags(c) & detail::kBertControl) != 0) return;
    if (is_white_space(c)) return out.push_back(' ');
    out.append(bytes);
  });
}

void bert_chinese(std::string_view text, std::string& out) {
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (!is_chinese(c)) return void(out.append(bytes));
    out.append(" ").append(bytes).append(" ");
  });
}

bool bert_accents(std::string_view text, std::string& out) {
  std::string decomposed;
  const bool changed = normalize(text, NormalForm::kNfd, decomposed);
  if (drop_flagged(changed ? decomposed : text, detail::kBertAccent, out)) return true;
  if (changed) out.append(decomposed);
  return changed;
}

bool replace(std::string_view text, const NormalizerStep& step, std::string& out) {
  size_t found = step.from.empty() ? std::string_view::npos : text.find(step.from);
  if (found == std::string_view::npos) return false;
  for (size_t at = 0;; found = text.find(step.from, at)) {
    out.append(text.substr(at, found - at));
    if (found == std::string_view::npos) return true;
    out.append(step.to);
    at = found + step.from.size();
  }
}

void replace_matches(std::string_view text, const Pattern& pattern, std::string_view to,
                     std::string& out) {
  for (const MatchSpan& span : pattern.spans(text))
    out.append(span.match ? to : text.substr(span.begin, span.end - span.begin));
}

// As the model for machine translation in sentencepiece (nmt_nfkc) has them.
void nmt(std::string_view text, std::string& out) {
  const auto is_dropped = [](char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
           c == 0x8F || c == 0x9F;
  };
  const auto is_space = [](char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xFEFF || c == 0xFFFD;
  };
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (is_dropped(c)) return;
    out.append(is_space(c) ? " " : bytes);
  });
}

bool strip(std::string_view text, std::string_view stripped, std::string& out) {
  if (stripped.size() == text.size()) return false;
  out.append(stripped);
  return true;
}

void collapse_spaces(std::string_view text, std::string& out) {
  const size_t before = out.size();
  for (const char c : text) {
    if (c == ' ' && (out.size() == before || out.back() == ' ')) continue;
    out.push_back(c);
  }
  if (out.size() > before && out.back() == ' ') out.pop_back();
}

}  // namespace

base::Result<Normalizer> Normalizer::compile(std::span<const NormalizerStep> steps) {
  Normalizer out;
  for (const NormalizerStep& what : steps) {
    Step step{what, {}, {}};
    if (what.kind == Kind::kCharsmap || what.kind == Kind::kPrecompiled) {
      PUNA_TRY(auto map, Charsmap::parse(what.from));
      step.charsmap.push_back(std::move(map));
      step.what.from.clear();
    }
    if (what.kind == Kind::kReplaceMatches) {
      PUNA_TRY(auto pattern, Pattern::compile(what.from, /*is_expression=*/true));
      step.pattern.push_back(std::move(pattern));
    }
    out.steps_.push_back(std::move(step));
  }
  return out;
}

bool Normalizer::apply_step(const Step& step, std::string_view text, std::string& out) {
  switch (step.what.kind) {
    case Kind::kNfc:
      return normalize(text, NormalForm::kNfc, out);
    case Kind::kNfd:
      return normalize(text, NormalForm::kNfd, out);
    case Kind::kNfkc:
      return normalize(text, NormalForm::kNfkc, out);
    case Kind::kNfkd:
      return normalize(text, NormalForm::kNfkd, out);
    case Kind::kLowercase:
      lowercase(text, out);
      return true;
    case Kind::kStripAccents:
      return drop_flagged(text, detail::kMark, out);
    case Kind::kBertClean:
      bert_clean(text, out);
      return true;
    case Kind::kBertChinese:
      bert_chinese(text, out);
      return true;
    case Kind::kBertAccents:
      return bert_accents(text, out);
    case Kind::kReplace:
      return replace(text, step.what, out);
    case Kind::kReplaceMatches:
      replace_matches(text, step.pattern[0], step.what.to, out);
      return true;
    case Kind::kPrepend:
      if (text.empty()) return false;
      out.append(step.what.to).append(text);
      return true;
    case Kind::kStripLeft:
      return strip(text, strip_left(text), out);
    case Kind::kStripRight:
      return strip(text, strip_right(text), out);
    case Kind::kCollapseSpaces:
      collapse_spaces(text, out);
      return true;
    case Kind::kCharsmap:
      step.charsmap[0].append(text, out);
      return true;
    case Kind::kPrecompiled:
      append_precompiled(step.charsmap[0], text, out);
      return true;
    case Kind::kNmt:
      nmt(text, out);
      return true;
    case Kind::kByteLevel:
      out.append(mapped_bytes(text));
      return true;
  }
  return false;
}

std::string_view Normalizer::apply(std::string_view text, std::deque<std::string>& kept) const {
  bool changed = false;
  for (const Step& step : steps_) {
    std::string out;
    out.reserve(text.size());
    if (!apply_step(step, text, out)) continue;
    if (changed) kept.pop_back();
    kept.push_back(std::move(out));
    changed = true;
    text = kept.back();
  }
  return text;
}

}  // namespace puna::tokenizer
