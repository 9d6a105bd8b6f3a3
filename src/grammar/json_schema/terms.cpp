#include "grammar/json_schema/terms.h"

#include <algorithm>

namespace puna::grammar {

Terms::Terms() {
  add({Term::Kind::kAll, nullptr, false, {}});
  add({Term::Kind::kNone, nullptr, false, {}});
}

TermId Terms::add(Term term) {
  const auto [place, is_new] = ids_.emplace(std::move(term), static_cast<TermId>(terms_.size()));
  if (is_new) terms_.push_back(&place->first);
  return place->second;
}

TermId Terms::schema(const base::Json& json, bool closed) {
  if (json.is_bool()) return json.boolean() ? kAll : kNone;
  if (json.is_object() && json.members().empty()) return kAll;
  return add({Term::Kind::kSchema, &json, closed, {}});
}

TermId Terms::value(const base::Json& json) { return add({Term::Kind::kValue, &json, false, {}}); }

TermId Terms::every(std::span<const TermId> parts) {
  std::vector<TermId> flat;
  for (const TermId part : parts) {
    const Term& term = *terms_[part];
    if (term.kind == Term::Kind::kEvery) {
      flat.insert(flat.end(), term.parts.begin(), term.parts.end());
    } else {
      flat.push_back(part);
    }
  }
  std::ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  std::erase(flat, kAll);
  if (flat.empty()) return kAll;
  if (flat.size() == 1) return flat.front();
  for (const TermId part : flat) {
    const Term& term = *terms_[part];
    const bool opposed =
        term.kind == Term::Kind::kNot && std::ranges::binary_search(flat, term.parts.front());
    if (part == kNone || opposed) return kNone;
  }
  return add({Term::Kind::kEvery, nullptr, false, std::move(flat)});
}

TermId Terms::negation(TermId term) {
  if (term == kAll) return kNone;
  if (term == kNone) return kAll;
  if (terms_[term]->kind == Term::Kind::kNot) return terms_[term]->parts.front();
  return add({Term::Kind::kNot, nullptr, false, {term}});
}

}  // namespace puna::grammar
