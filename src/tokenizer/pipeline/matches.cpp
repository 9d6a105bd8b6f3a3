#include "tokenizer/pipeline/matches.h"

#include <algorithm>

namespace puna::tokenizer {

base::Result<Pattern> Pattern::compile(std::string_view text, bool is_expression) {
  Pattern out;
  if (!is_expression) {
    out.what_ = std::string(text);
    return out;
  }
  if (auto quick = SplitExpression::compile(text)) {
    out.what_ = *std::move(quick);
    return out;
  }
  PUNA_TRY(auto regex, Regex::compile(text));
  out.what_ = std::move(regex);
  return out;
}

namespace {

std::optional<Match> find(const std::string& text, std::string_view in, size_t from) {
  const size_t at = in.find(text, from);
  if (at == std::string_view::npos) return {};
  return Match{at, at + text.size()};
}
template <class Expression>
std::optional<Match> find(const Expression& expression, std::string_view in, size_t from) {
  return expression.search(in, from);
}

}  // namespace

std::vector<MatchSpan> Pattern::spans(std::string_view text) const {
  std::vector<MatchSpan> out;
  size_t from = 0, previous = 0;
  bool any = false;
  while (from <= text.size()) {
    const auto match =
        std::visit([&](const auto& pattern) { return find(pattern, text, from); }, what_);
    if (!match) break;
    // An empty match right behind the last one does not count.
    if (match->begin == match->end && any && match->end == previous) {
      from = previous < text.size() ? previous + base::utf8_next(text, previous).bytes
                                    : text.size() + 1;
      continue;
    }
    if (previous < match->begin) out.push_back({previous, match->begin, false});
    out.push_back({match->begin, match->end, true});
    previous = from = match->end;
    any = true;
    if (match->begin == match->end) {
      from = previous < text.size() ? previous + base::utf8_next(text, previous).bytes
                                    : text.size() + 1;
    }
  }
  if (previous < text.size()) out.push_back({previous, text.size(), false});
  return out;
}

std::vector<std::pair<size_t, size_t>> pieces_of(const std::vector<MatchSpan>& spans,
                                                 SplitBehavior behavior) {
  std::vector<std::pair<size_t, size_t>> out;
  out.reserve(spans.size());
  bool previous = false;
  const auto add = [&](const MatchSpan& span, bool joins, bool backwards) {
    if (!joins || out.empty()) return void(out.emplace_back(span.begin, span.end));
    (backwards ? out.back().first : out.back().second) = backwards ? span.begin : span.end;
  };
  if (behavior == SplitBehavior::kMergedWithNext) {
    for (size_t i = spans.size(); i-- > 0;) {
      add(spans[i], spans[i].match && !previous, /*backwards=*/true);
      previous = spans[i].match;
    }
    std::reverse(out.begin(), out.end());
  } else {
    for (const MatchSpan& span : spans) {
      if (behavior == SplitBehavior::kRemoved && span.match) continue;
      const bool joins =
          (behavior == SplitBehavior::kContiguous && span.match == previous) ||
          (behavior == SplitBehavior::kMergedWithPrevious && span.match && !previous);
      add(span, joins, /*backwards=*/false);
      previous = span.match;
    }
  }
  std::erase_if(out, [](const auto& piece) { return piece.first == piece.second; });
  return out;
}

}  // namespace puna::tokenizer
