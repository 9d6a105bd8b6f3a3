// The arguments of calls as rules: objects whose properties may stand as keywords or between tags.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/json_schema/writer.h"
#include "grammar/vocabulary.h"

namespace puna::grammar {

using base::Result;

namespace {

using Form = ArgumentNotation::Form;

constexpr std::string_view kSpace = " \t\r\n";

bool is_letter(char c) {
  return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
}
bool goes_on(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

// One byte that `is` holds of.
template <class Is>
Expression byte_that(Expressions& e, Is is) {
  ByteSet out;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (is(static_cast<char>(byte))) out.add(static_cast<uint8_t>(byte));
  }
  return e.bytes(out);
}
Expression byte_of(Expressions& e, std::string_view members) {
  return byte_that(e, [&](char c) { return members.find(c) != std::string_view::npos; });
}

Expression words(Expressions& e) {
  return e.sequence({byte_that(e, is_letter), e.repeat(byte_that(e, goes_on), 0, kUnbounded)});
}

// Names that stand between tags as they are.
bool fits_tag(const ValueTags& tags, std::string_view name) {
  std::string_view behind = tags.behind_name;
  if (behind.starts_with(kControl)) behind.remove_prefix(kControl.size());
  return !name.empty() && name.find(behind.front()) == std::string_view::npos &&
         kSpace.find(name.front()) == std::string_view::npos &&
         kSpace.find(name.back()) == std::string_view::npos;
}

// A name with its tags.
Expression tagged_name(Expressions& e, const ValueTags& tags, Expression name) {
  std::vector<Expression> parts{e.literal(tags.before_name), name, e.literal(tags.behind_name)};
  if (!tags.before_value.empty()) {
    parts.push_back(e.optional(e.literal("\n")));
    parts.push_back(e.literal(tags.before_value));
  }
  return e.sequence(parts);
}

// Texts that begin as JSON that is no text does, or are a word of it.
Expression looks_like_json(Expressions& e) {
  const Expression rest = e.repeat(e.any_character(), 0, kUnbounded);
  const Expression space = e.repeat(byte_of(e, kSpace), 0, kUnbounded);
  return e.choice({e.sequence({byte_of(e, " \t\r\n{[-0123456789"), rest}),
                   e.sequence({e.literals({"null", "true", "false"}), space})});
}

}  // namespace

bool is_word(std::string_view name) {
  if (name.empty() || !is_letter(name.front())) return false;
  return std::ranges::all_of(name, goes_on);
}

Result<Expression> RuleWriter::key(const Brackets& brackets, const std::string& name) {
  const Form form = brackets.arguments ? brackets.arguments->form : Form::kObject;
  if (form == Form::kKeywords)
    return without_ends(is_word(name) ? e_.literal(name + "=") : e_.nothing());
  if (form == Form::kTags) {
    const ValueTags& tags = brackets.arguments->tags;
    if (!fits_tag(tags, name)) return e_.nothing();
    PUNA_TRY(const Expression fits, without_ends(e_.literal(name)));
    return tagged_name(e_, tags, fits);
  }
  const Expression colon = e_.sequence({e_.literal(":"), space_});
  if (!notation_.quote.empty() && !is_word(name)) return written(e_.literal(name), colon);
  const std::string text = notation_.quote.empty() ? base::Json(name).dump() : name;
  return without_ends(e_.sequence({e_.literal(text), colon}));
}

Result<Expression> RuleWriter::key(const Brackets& brackets, Expression names) {
  const Form form = brackets.arguments ? brackets.arguments->form : Form::kObject;
  if (form == Form::kObject) return written(names, e_.sequence({e_.literal(":"), space_}));
  const Expression plain = reader_.languages().both(names, words(e_));
  if (form == Form::kKeywords) return without_ends(e_.sequence({plain, e_.literal("=")}));
  PUNA_TRY(const Expression fits, without_ends(plain));
  return tagged_name(e_, brackets.arguments->tags, fits);
}

Result<Symbol> RuleWriter::content(const Brackets& brackets, TermId term, std::string_view name) {
  if (!brackets.arguments || brackets.arguments->form != Form::kTags) return value(term);
  TextReading reading{.text = false,
                      .by_looks = true,
                      .null = true,
                      .boolean = true,
                      .number = true,
                      .array = true,
                      .object = true};
  if (!name.empty() && brackets.arguments->reading) reading = brackets.arguments->reading(name);
  PUNA_TRY(const Symbol text, tagged(term, reading));
  return builder_.sequence({text, builder_.literal(brackets.arguments->tags.behind_value)});
}

// What would be read as something else is not written.
Result<Symbol> RuleWriter::tagged(TermId term, const TextReading& reading) {
  PUNA_TRY(const ValueSet* set, reader_.values(term));
  ValueSet kept = *set;
  const bool reads_text = reading.text || reading.by_looks;
  Expression texts = reads_text ? kept.strings : e_.nothing();
  const Expression space = e_.repeat(byte_of(e_, kSpace), 0, kUnbounded);
  Languages& languages = reader_.languages();
  if (reading.by_looks) {
    PUNA_TRY(texts, languages.without(texts, looks_like_json(e_)));
  }
  if (reading.text && reading.null) {
    const Expression null = e_.sequence({space, e_.literal("null"), space});
    PUNA_TRY(texts, languages.without(texts, null));
  }
  kept.strings = e_.nothing();
  kept.null = kept.null && reading.null;
  kept.no = kept.no && reading.boolean;
  kept.yes = kept.yes && reading.boolean;
  if (!reading.number) kept.numbers = Numerals::none();
  if (!reading.array) kept.arrays.clear();
  if (!reading.object) kept.objects.clear();
  PUNA_TRY(const Symbol others, body(kept));
  PUNA_TRY(texts, without_ends(texts));
  return builder_.choice({others, builder_.lexeme(texts, reader_.path_of(term))});
}

Result<Symbol> RuleWriter::write_arguments(TermId term, const ArgumentNotation& notation) {
  Brackets brackets = braces_;
  if (notation.form == Form::kKeywords) {
    brackets.open = builder_.literal("(");
    brackets.close = builder_.literal(")");
    brackets.empty = builder_.literal("()");
  } else if (notation.form == Form::kTags) {
    brackets.open = brackets.close = brackets.empty = builder_.empty();
    brackets.comma = builder_.lexeme(gap_);
  }
  brackets.arguments = &notation;
  writing_ = term;
  PUNA_TRY(const ValueSet* set, reader_.values(term));
  std::vector<Symbol> ways;
  for (const ObjectShape& shape : set->objects) {
    PUNA_TRY(const Symbol way, object(shape, brackets));
    ways.push_back(way);
  }
  PUNA_TRY(write_open());
  return builder_.choice(ways);
}

}  // namespace puna::grammar
