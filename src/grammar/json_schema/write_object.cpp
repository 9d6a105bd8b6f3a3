// Objects as rules: the properties that are known by name in their order, then others. Each rule is
// a state: how many properties there are, as far as that matters, and which needs are fulfilled.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "grammar/json_schema/writer.h"

namespace puna::grammar {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {
constexpr size_t kMostNameSets = 6;
constexpr size_t kMostNeeds = 3;
}  // namespace

struct RuleWriter::Object {
  // A property that may be there, and the needs that one of such a value fulfils.
  struct Way {
    TermId term = 0;
    uint32_t needs = 0;
  };
  struct Named {
    std::string name;
    bool required = false;
    std::vector<TermId> terms;
    std::vector<Way> ways;
  };
  struct Others {
    Expression names;
    std::vector<Way> ways;
  };

  const ObjectShape& shape;
  const Brackets& brackets;
  std::vector<Named> named{};
  std::unordered_map<std::string, size_t> index{};  // of named, by name
  std::vector<Others> others{};
  std::vector<const ObjectShape::Member*> needs{};  // that no name fulfils alone
  uint64_t most_counted = 1;                        // more properties than these are not told apart

  uint32_t state_of(uint64_t count, uint32_t fulfilled) const {
    return fulfilled * static_cast<uint32_t>(most_counted + 1) + static_cast<uint32_t>(count);
  }
  uint32_t n_states() const { return state_of(0, 1u << needs.size()); }
  uint64_t count_in(uint32_t state) const { return state % (most_counted + 1); }
  // The state after one property more; nothing where there may be none.
  std::optional<uint32_t> after(uint32_t state, uint32_t fulfils) const {
    const uint64_t count = count_in(state);
    if (count == shape.most) return std::nullopt;
    const uint32_t fulfilled = state / static_cast<uint32_t>(most_counted + 1);
    return state_of(std::min(count + 1, most_counted), fulfilled | fulfils);
  }
  // By state, after the named ones that were looked at: the rule of what is written so far. That
  // of state 0 is empty, and only `may_be_empty` is said of it.
  std::vector<std::optional<Symbol>> written{};
  bool may_be_empty = true;
};

// The names that are known, with what is said of each, and the sets of other names.
Result<void> RuleWriter::find_names(Object& object) {
  const ObjectShape& shape = object.shape;
  SchemaReader& reader = reader_;
  std::vector<const Names*> sets;
  const auto look_at = [&](const Names& names, bool required) {
    if (!names.one) {
      const auto same = [&](const Names* other) { return other->many == names.many; };
      if (std::ranges::none_of(sets, same)) sets.push_back(&names);
      return;
    }
    const auto [known, is_new] = object.index.emplace(*names.one, object.named.size());
    if (is_new) object.named.push_back({*names.one, false, {}, {}});
    object.named[known->second].required |= required;
  };
  for (const auto& member : shape.members) look_at(member.names, false);
  for (const auto& needed : shape.needed) {
    look_at(needed.names, true);
    if (!needed.names.one) object.needs.push_back(&needed);
  }
  if (object.needs.size() > kMostNeeds || sets.size() > kMostNameSets) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: more than {} sets of names, or {} that a property is needed of, "
                            "are not supported in one object.",
                            reader.path_of(writing_), kMostNameSets, kMostNeeds));
  }
  const auto ways_of = [&](TermId term, auto&& is_in) {
    std::vector<Object::Way> ways{{term, 0}};
    for (size_t i = 0; i < object.needs.size(); ++i) {
      if (!is_in(object.needs[i]->names)) continue;
      for (size_t n = ways.size(); n-- > 0;) {
        ways.push_back(
            {reader.terms().every(ways[n].term, object.needs[i]->term), ways[n].needs | 1u << i});
      }
    }
    std::erase_if(ways, [](const Object::Way& way) { return way.term == Terms::kNone; });
    return ways;
  };
  for (const auto* list : {&shape.members, &shape.needed}) {
    for (const ObjectShape::Member& member : *list) {
      if (member.names.one) {
        object.named[object.index.at(*member.names.one)].terms.push_back(member.term);
      } else if (list == &shape.members) {
        for (Object::Named& named : object.named) {
          if (reader.has_name(member.names, named.name)) named.terms.push_back(member.term);
        }
      }
    }
  }
  std::vector<std::string> names;
  for (Object::Named& named : object.named) {
    names.push_back(named.name);
    named.ways = ways_of(reader.terms().every(named.terms),
                         [&](const Names& set) { return reader.has_name(set, named.name); });
  }
  // What other names there are, by the sets that they are in.
  struct Part {
    Expression names;
    std::vector<const Names*> in;
  };
  Languages& languages = reader.languages();
  std::vector<Part> parts{{languages.any(), {}}};
  if (!names.empty()) {
    parts.front().names = e_.without(languages.any(), e_.literals(std::move(names)));
  }
  for (const Names* set : sets) {
    const bool is_rest =
        set->all_but && std::ranges::all_of(*set->all_but, [&](const auto& name) {
          return std::ranges::find(object.named, name, &Object::Named::name) != object.named.end();
        });
    std::vector<Part> split;
    for (Part& part : parts) {
      Part inside{is_rest ? part.names : languages.both(part.names, set->many), part.in};
      inside.in.push_back(set);
      PUNA_TRY(const bool none_inside, languages.is_nothing(inside.names));
      if (!none_inside) split.push_back(std::move(inside));
      if (is_rest) continue;
      part.names = e_.without(part.names, set->many);
      PUNA_TRY(const bool none_outside, languages.is_nothing(part.names));
      if (!none_outside) split.push_back(std::move(part));
    }
    parts = std::move(split);
  }
  for (const Part& part : parts) {
    const auto is_in = [&](const Names& names) {
      return !names.one && std::ranges::any_of(
                               part.in, [&](const Names* set) { return set->many == names.many; });
    };
    std::vector<TermId> terms;
    for (const auto& member : shape.members) {
      if (is_in(member.names)) terms.push_back(member.term);
    }
    auto ways = ways_of(reader.terms().every(terms), is_in);
    if (!ways.empty()) object.others.push_back({part.names, std::move(ways)});
  }
  return {};
}

Result<void> RuleWriter::write_named(Object& object) {
  for (const Object::Named& named : object.named) {
    Languages& languages = reader_.languages();
    PUNA_TRY(const Expression written, key(object.brackets, named.name));
    bool unwritable = e_.is_nothing(written);
    if (!notation_.ends.empty()) {
      PUNA_TRY(unwritable, languages.is_nothing(written));
    }
    if (unwritable && named.required) {
      return fail(
          ErrorCode::kUnsupported,
          fmt::format("{}: the property \"{}\" is required, but calls of this model have no "
                      "way to write its name.",
                      reader_.path_of(writing_), named.name));
    }
    if (unwritable) continue;
    std::vector<std::vector<Symbol>> next(object.n_states());
    if (!named.required) {
      for (uint32_t state = 0; state < next.size(); ++state) {
        if (object.written[state]) next[state].push_back(*object.written[state]);
      }
    }
    const Symbol name = builder_.lexeme(written);
    for (const Object::Way& way : named.ways) {
      PUNA_TRY(const Symbol value, content(object.brackets, way.term, named.name));
      for (uint32_t state = 0; state < next.size(); ++state) {
        const bool first = state == 0 && object.may_be_empty;
        if (!first && !object.written[state]) continue;
        const auto to = object.after(state, way.needs);
        if (!to) continue;
        next[*to].push_back(first ? builder_.sequence({name, value})
                                  : builder_.sequence({*object.written[state],
                                                       object.brackets.comma, name, value}));
      }
    }
    if (named.required) object.may_be_empty = false;
    for (uint32_t state = 0; state < next.size(); ++state) {
      object.written[state].reset();
      if (!next[state].empty()) object.written[state] = rule(std::move(next[state]));
    }
  }
  return {};
}

Result<void> RuleWriter::write_others(Object& object) {
  if (object.others.empty()) return {};
  std::vector<Symbol> rules;
  std::vector<std::vector<Symbol>> ways(object.n_states());
  for (uint32_t state = 0; state < ways.size(); ++state) {
    rules.push_back(builder_.declare("properties"));
    if (object.written[state]) ways[state].push_back(*object.written[state]);
  }
  for (const Object::Others& others : object.others) {
    PUNA_TRY(const Expression written, key(object.brackets, others.names));
    const Symbol name = builder_.lexeme(written, reader_.path_of(writing_));
    for (const Object::Way& way : others.ways) {
      PUNA_TRY(const Symbol value, content(object.brackets, way.term, {}));
      const Symbol property = builder_.sequence({name, value});
      for (uint32_t state = 0; state < ways.size(); ++state) {
        const auto to = object.after(state, way.needs);
        if (!to) continue;
        if (state == 0 && object.may_be_empty) ways[*to].push_back(property);
        if (state != 0) {
          ways[*to].push_back(builder_.sequence({rules[state], object.brackets.comma, property}));
        }
      }
    }
  }
  for (uint32_t state = 0; state < ways.size(); ++state) {
    builder_.define(rules[state], builder_.choice(ways[state]));
    object.written[state] = rules[state];
  }
  return {};
}

Result<Symbol> RuleWriter::object(const ObjectShape& shape, const Brackets& brackets) {
  Object object{.shape = shape, .brackets = brackets};
  PUNA_TRY(find_names(object));
  if (shape.most == 0) {
    const bool possible = shape.least == 0 && shape.needed.empty();
    return possible ? brackets.empty : builder_.nothing();
  }
  object.most_counted = shape.most == kEndless ? std::max<uint64_t>(shape.least, 1) : shape.most;
  // Of so many properties not all can be counted to.
  const uint64_t countable = object.others.empty() ? object.named.size() : kEndless;
  if (shape.least > countable) return builder_.nothing();
  if (shape.most != kEndless) {
    object.most_counted = std::min(object.most_counted, std::max<uint64_t>(countable, 1));
  }
  const uint64_t rules = (object.most_counted + 1) * (object.named.size() + 1);
  if (object.most_counted > builder_.limits().rules || rules > builder_.limits().rules) {
    return too_many_rules();
  }
  object.written.assign(object.n_states(), std::nullopt);
  PUNA_TRY(write_named(object));
  PUNA_TRY(write_others(object));
  std::vector<Symbol> ways;
  const uint32_t all = (1u << object.needs.size()) - 1;
  for (uint64_t count = std::max<uint64_t>(shape.least, 1); count <= object.most_counted; ++count) {
    const auto& written = object.written[object.state_of(count, all)];
    if (written) ways.push_back(builder_.sequence({brackets.open, *written, brackets.close}));
  }
  if (shape.least == 0 && all == 0 && object.may_be_empty) ways.push_back(brackets.empty);
  return builder_.choice(ways);
}

}  // namespace puna::grammar
