#include "tokenizer/normalizer.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/normal_form.h"
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

void replace_matches(std::string_view text, const SplitExpression& expression, std::string_view to,
                     std::string& out) {
  for (size_t at = 0; at < text.size();) {
    if (const size_t length = expression.match(text, at); length > 0) {
      out.append(to);
      at += length;
    } else {
      const size_t bytes = base::utf8_next(text, at).bytes;
      out.append(text.substr(at, bytes));
      at += bytes;
    }
  }
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
    if (what.kind == Kind::kCharsmap) {
      PUNA_TRY(auto map, Charsmap::parse(what.from));
      step.charsmap.push_back(std::move(map));
      step.what.from.clear();
    }
    if (what.kind == Kind::kReplaceMatches) {
      PUNA_TRY(auto expression, SplitExpression::compile(what.from));
      step.expression.push_back(std::move(expression));
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
      replace_matches(text, step.expression[0], step.what.to, out);
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
