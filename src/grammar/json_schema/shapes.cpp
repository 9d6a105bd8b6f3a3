#include "grammar/json_schema/shapes.h"

#include <algorithm>

namespace puna::grammar {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

template <class T>
void add_missing(std::vector<T>& to, const std::vector<T>& from) {
  if (to.empty()) {
    to = from;
    return;
  }
  for (const T& each : from) {
    if (std::ranges::find(to, each) == to.end()) to.push_back(each);
  }
}

ArrayShape meet(ArrayShape a, const ArrayShape& b) {
  add_missing(a.items, b.items);
  add_missing(a.counts, b.counts);
  a.least = std::max(a.least, b.least);
  a.most = std::min(a.most, b.most);
  a.unique |= b.unique;
  a.evaluated = std::max(a.evaluated, b.evaluated);
  return a;
}

ObjectShape meet(ObjectShape a, const ObjectShape& b) {
  add_missing(a.members, b.members);
  add_missing(a.needed, b.needed);
  a.least = std::max(a.least, b.least);
  a.most = std::min(a.most, b.most);
  a.described |= b.described;
  add_missing(a.evaluated, b.evaluated);
  return a;
}

std::unexpected<base::Error> too_many() {
  return over_limit("The schema has alternatives of arrays or objects,", Algebra::kMostShapes,
                    "shapes");
}

template <class Shape>
Result<void> meet_all(std::vector<Shape>& a, const std::vector<Shape>& b) {
  std::vector<Shape> out;
  for (const Shape& x : a) {
    for (const Shape& y : b) {
      Shape both = meet(x, y);
      if (!is_possible(both) || std::ranges::find(out, both) != out.end()) continue;
      if (out.size() == Algebra::kMostShapes) return too_many();
      out.push_back(std::move(both));
    }
  }
  a = std::move(out);
  return {};
}

}  // namespace

bool is_possible(const ArrayShape& shape) {
  if (shape.least > shape.most) return false;
  return std::ranges::all_of(shape.counts, [&](const ArrayShape::Count& count) {
    return count.least <= count.most && (count.least == 0 || count.term != Terms::kNone);
  });
}

bool is_possible(const ObjectShape& shape) {
  if (shape.least > shape.most) return false;
  return std::ranges::all_of(shape.needed, [&](const ObjectShape::Member& needed) {
    if (needed.term == Terms::kNone) return false;
    return std::ranges::none_of(shape.members, [&](const ObjectShape::Member& member) {
      return member.term == Terms::kNone && member.names == needed.names;
    });
  });
}

ValueSet Algebra::all() {
  ValueSet out;
  out.null = out.no = out.yes = true;
  out.numbers = Numerals::all();
  out.strings = languages_.any();
  out.arrays.emplace_back();
  out.objects.emplace_back();
  return out;
}

ArrayShape Algebra::shape_of_array(const base::Json& value) {
  ArrayShape shape;
  shape.least = shape.most = value.items().size();
  for (uint64_t i = 0; i < shape.most; ++i) {
    shape.items.push_back({i, i + 1, terms_.value(value.items()[static_cast<size_t>(i)])});
  }
  return shape;
}

ObjectShape Algebra::shape_of_object(const base::Json& value) {
  ObjectShape shape;
  shape.least = shape.most = value.members().size();
  for (const auto& [name, inner] : value.members()) {
    shape.members.push_back({{name, {}, {}}, terms_.value(inner)});
    shape.needed.push_back({{name, {}, {}}, Terms::kAll});
  }
  return shape;
}

ValueSet Algebra::of_values(std::span<const base::Json> values) {
  ValueSet out;
  std::vector<Decimal> numbers;
  std::vector<std::string> texts;
  for (const base::Json& value : values) {
    if (value.is_null()) {
      out.null = true;
    } else if (value.is_bool()) {
      (value.boolean() ? out.yes : out.no) = true;
    } else if (value.is_number()) {
      // A number of too many digits is none that is ever written.
      if (auto decimal = Decimal::of(value)) numbers.push_back(*std::move(decimal));
    } else if (value.is_string()) {
      texts.push_back(value.string());
    } else if (value.is_array()) {
      out.arrays.push_back(shape_of_array(value));
    } else {
      out.objects.push_back(shape_of_object(value));
    }
  }
  out.numbers = Numerals::listed(numbers);
  out.strings = languages_.expressions().literals(std::move(texts));
  return out;
}

Result<void> Algebra::join(ValueSet& a, std::span<const ValueSet* const> others) {
  std::vector<Expression> strings{a.strings};
  std::vector<Numerals> numbers{a.numbers};
  for (const ValueSet* b : others) {
    a.null |= b->null;
    a.no |= b->no;
    a.yes |= b->yes;
    a.strings_in_part |= b->strings_in_part;
    strings.push_back(b->strings);
    numbers.push_back(b->numbers);
    add_missing(a.arrays, b->arrays);
    add_missing(a.objects, b->objects);
    if (std::max(a.arrays.size(), a.objects.size()) > kMostShapes) return too_many();
  }
  a.strings = std::ranges::find(strings, languages_.any()) == strings.end()
                  ? languages_.expressions().choice(strings)
                  : languages_.any();
  // By twos, so that what is joined is of a size.
  while (numbers.size() > 1) {
    for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
      numbers[i / 2] = Numerals::either(numbers[i], numbers[i + 1]);
    }
    if (numbers.size() % 2 == 1) numbers[numbers.size() / 2] = numbers.back();
    numbers.resize((numbers.size() + 1) / 2, Numerals::none());
  }
  a.numbers = std::move(numbers.front());
  return {};
}

Result<void> Algebra::meet(ValueSet& a, const ValueSet& b) {
  a.null &= b.null;
  a.no &= b.no;
  a.yes &= b.yes;
  a.numbers = Numerals::both(a.numbers, b.numbers);
  a.strings = languages_.both(a.strings, b.strings);
  a.strings_in_part |= b.strings_in_part;
  PUNA_TRY(meet_all(a.arrays, b.arrays));
  return meet_all(a.objects, b.objects);
}

Result<ValueSet> Algebra::complement(const ValueSet& of) {
  if (of.strings_in_part) {
    return fail(ErrorCode::kUnsupported,
                "what is not of a format is not known where only a part of the format is made");
  }
  ValueSet out;
  out.null = !of.null;
  out.no = !of.no;
  out.yes = !of.yes;
  out.numbers = Numerals::without(Numerals::all(), of.numbers);
  out.strings = of.strings == languages_.any()
                    ? languages_.expressions().nothing()
                    : languages_.expressions().without(languages_.any(), of.strings);
  out.arrays.emplace_back();
  for (const ArrayShape& shape : of.arrays) {
    std::vector<ArrayShape> rest;
    PUNA_TRY(complement_into(shape, rest));
    PUNA_TRY(meet_all(out.arrays, rest));
  }
  out.objects.emplace_back();
  for (const ObjectShape& shape : of.objects) {
    std::vector<ObjectShape> rest;
    complement_into(shape, rest);
    PUNA_TRY(meet_all(out.objects, rest));
  }
  return out;
}

// One shape for each thing that a value may fail to fulfil.
Result<void> Algebra::complement_into(const ArrayShape& shape, std::vector<ArrayShape>& out) {
  if (shape.unique) {
    return fail(ErrorCode::kUnsupported, "\"uniqueItems\" cannot be the other way around");
  }
  const auto add = [&](ArrayShape one) {
    if (is_possible(one)) out.push_back(std::move(one));
  };
  for (const ArrayShape::Items& items : shape.items) {
    const TermId other = terms_.negation(items.term);
    if (items.to == items.from + 1) {
      add({.items = {{items.from, items.to, other}}, .least = items.to});
    } else {
      add({.counts = {{items.from, items.to, other, 1, kEndless}}, .least = items.from + 1});
    }
  }
  for (const ArrayShape::Count& count : shape.counts) {
    if (count.least > 0) add({.counts = {{count.from, count.to, count.term, 0, count.least - 1}}});
    if (count.most != kEndless) {
      add({.counts = {{count.from, count.to, count.term, count.most + 1, kEndless}}});
    }
  }
  if (shape.least > 0) add({.most = shape.least - 1});
  if (shape.most != kEndless) add({.least = shape.most + 1});
  return {};
}

void Algebra::complement_into(const ObjectShape& shape, std::vector<ObjectShape>& out) {
  const auto add = [&](ObjectShape one) {
    if (is_possible(one)) out.push_back(std::move(one));
  };
  for (const ObjectShape::Member& member : shape.members) {
    add({.needed = {{member.names, terms_.negation(member.term)}}});
  }
  for (const ObjectShape::Member& needed : shape.needed) {
    add({.members = {{needed.names, terms_.negation(needed.term)}}});
  }
  if (shape.least > 0) add({.most = shape.least - 1});
  if (shape.most != kEndless) add({.least = shape.most + 1});
}

}  // namespace puna::grammar
