#include "grammar/chart.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace puna::grammar {

namespace {

// Larger columns are sorted by what their items wait for.
constexpr size_t kMostScanned = 32;

size_t place(uint32_t slot, uint32_t origin, uint32_t count) {
  uint64_t out = (uint64_t{slot} << 32 | origin) * 0x9E3779B97F4A7C15;
  out = (out ^ out >> 32 ^ count) * 0xC2B2AE3D27D4EB4F;
  return static_cast<size_t>(out >> 20);
}

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t out = (a ^ b >> 32 ^ b << 32) * 0x9E3779B97F4A7C15;
  out = (out ^ out >> 29 ^ b) * 0xC2B2AE3D27D4EB4F;
  return out ^ out >> 32;
}

}  // namespace

Chart::Chart(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) {
  predicted_.turn_of.assign(grammar_->n_rules(), 0);
  lexeme_seen_.turn_of.assign(grammar_->n_lexemes(), 0);
  table_.assign(256, Entry());
  begin_column();
  const Grammar::Rule& start = grammar_->rule(grammar_->start());
  predicted_.add(grammar_->start(), turn_);
  for (const uint32_t slot : grammar_->starts(start)) add({slot, 0, 0});
  columns_.back().complete = start.nullable;
  finish_column();
}

bool Chart::add_column(std::span<const LexemeRun> ended) {
  const uint32_t n_before = n_columns();
  begin_column();
  for (const LexemeRun& run : ended) advance_waiting(run.column, Grammar::lexeme_code(run.lexeme));
  if (finish_column()) return true;
  truncate(n_before);
  return false;
}

bool Chart::within_limits() {
  if (n_steps_ > grammar_->limits().mask_steps) over_ = Over::kSteps;
  if (items_.size() * (sizeof(Item) + sizeof(Begun)) > grammar_->limits().chart_bytes)
    over_ = Over::kBytes;
  return over_ == Over::kNone;
}

std::optional<base::Error> Chart::over_limit() const {
  const Limits& limits = grammar_->limits();
  switch (over_) {
    case Over::kNone:
      return {};
    case Over::kSteps:
      return grammar::over_limit("The grammar has so many readings of the text that its steps are",
                                 limits.mask_steps, "mask_steps")
          .error();
    case Over::kBytes:
      return grammar::over_limit("The bytes of the readings of the text are", limits.chart_bytes,
                                 "chart_bytes")
          .error();
  }
  return {};
}

void Chart::truncate(uint32_t n_columns) {
  if (n_columns == columns_.size()) return;
  items_.resize(columns_[n_columns].items);
  last_of_.resize(std::min(last_of_.size(), items_.size()));
  lexemes_.resize(columns_[n_columns].lexemes);
  columns_.resize(n_columns);
}

std::span<const uint32_t> Chart::lexemes(uint32_t column) const {
  const size_t end = column + 1 < columns_.size() ? columns_[column + 1].lexemes : lexemes_.size();
  return std::span(lexemes_).subspan(columns_[column].lexemes, end - columns_[column].lexemes);
}

std::span<const Chart::Item> Chart::items(uint32_t column) const {
  const size_t end = column + 1 < columns_.size() ? columns_[column + 1].items : items_.size();
  return std::span(items_).subspan(columns_[column].items, end - columns_[column].items);
}

void Chart::begin_column() {
  columns_.push_back({static_cast<uint32_t>(items_.size()), static_cast<uint32_t>(lexemes_.size()),
                      false, grammar_->fingerprint()});
  ++turn_;
  n_in_table_ = 0;
}

// Every item may add more behind it. False where that is above a limit.
bool Chart::finish_column() {
  for (size_t i = columns_.back().items; i < items_.size(); ++i) {
    ++n_steps_;
    if (!within_limits()) return false;
    const Item item = items_[i];
    const Grammar::Slot& slot = grammar_->slot(item.slot);
    switch (slot.kind) {
      case Grammar::Kind::kEnd:
        complete_rule(slot.rule, item.origin);
        break;
      case Grammar::Kind::kRepeat:
        if (item.count >= slot.least) complete_rule(slot.rule, item.origin);
        if (item.count < slot.most) predict(slot);
        break;
      case Grammar::Kind::kRule:
      case Grammar::Kind::kLexeme:
        predict(slot);
        if (slot.nullable) add({item.slot + 1, item.origin, 0});
        break;
    }
  }
  keep_waiting();
  return true;
}

// Items that wait for nothing have done what they can. The list of n items of a rule that calls
// itself at its end has n of them at each end of an item.
void Chart::keep_waiting() {
  const auto begin = items_.begin() + columns_.back().items;
  items_.erase(
      std::remove_if(begin, items_.end(),
                     [&](const Item& item) {
                       const Grammar::Slot& slot = grammar_->slot(item.slot);
                       return slot.kind == Grammar::Kind::kEnd ||
                              (slot.kind == Grammar::Kind::kRepeat && item.count >= slot.most);
                     }),
      items_.end());
  if (items_.size() - columns_.back().items > kMostScanned) {
    const auto first = items_.begin() + columns_.back().items;
    std::sort(first, items_.end(), [&](const Item& a, const Item& b) {
      return grammar_->slot(a.slot).code < grammar_->slot(b.slot).code;
    });
  }
  last_of_.resize(items_.size());
  // The order in which items were found does not count.
  for (size_t i = columns_.back().items; i < items_.size(); ++i) {
    const Item& item = items_[i];
    const uint64_t place = uint64_t{item.slot} << 32 | item.count;
    if (item.origin + 1 == columns_.size()) {
      columns_.back().hash += mix(0, place);
    } else if (ends_rule(item.slot)) {
      const Begun last = last_of({grammar_->slot(item.slot).rule, item.origin});
      columns_.back().hash += mix(mix(columns_[last.origin].hash, last.rule), place);
    } else {
      columns_.back().hash += mix(columns_[item.origin].hash, place);
    }
  }
}

// Whether what a slot waits for is the last of its rule.
bool Chart::ends_rule(uint32_t slot) const {
  return grammar_->slot(slot).kind == Grammar::Kind::kRule &&
         grammar_->slot(slot + 1).kind == Grammar::Kind::kEnd;
}

// Where one rule ends another ends too, if it was the last part of that and nothing else waits for
// it: the last rule that ends so. It may be one of those before it, which is right as well.
Chart::Begun Chart::last_of(Begun ended) {
  // Rules of one column may go in circles.
  static constexpr uint32_t kMostHere = 16;
  path_.clear();
  for (uint32_t n_here = 0; n_here < kMostHere;) {
    if (ended.rule == grammar_->start() && ended.origin == 0) break;
    const uint32_t code = Grammar::rule_code(ended.rule);
    const auto all = may_wait(ended.origin, code);
    const Item* waits = nullptr;
    bool is_only = true;
    for (const Item& item : all) {
      ++n_steps_;
      if (grammar_->slot(item.slot).code != code) continue;
      is_only = waits == nullptr;
      if (!is_only) break;
      waits = &item;
    }
    if (waits == nullptr || !is_only || !ends_rule(waits->slot)) break;
    const auto at = static_cast<size_t>(waits - items_.data());
    if (last_of_[at].rule != Grammar::kNothing) {
      ended = last_of_[at];
      break;
    }
    path_.push_back(at);
    n_here = waits->origin == ended.origin ? n_here + 1 : 0;
    ended = {grammar_->slot(waits->slot).rule, waits->origin};
  }
  for (const size_t at : path_) last_of_[at] = ended;
  return ended;
}

void Chart::predict(const Grammar::Slot& slot) {
  const uint32_t id = slot.code / 2;
  if (slot.kind == Grammar::Kind::kEnd) return;
  if (slot.code % 2 == 0) {
    if (lexeme_seen_.add(id, turn_) && grammar_->lexeme(id).lexeme.matches_some())
      lexemes_.push_back(id);
    return;
  }
  if (!predicted_.add(id, turn_)) return;
  const auto here = static_cast<uint32_t>(columns_.size() - 1);
  for (const uint32_t start : grammar_->starts(grammar_->rule(id))) add({start, here, 0});
}

void Chart::complete_rule(uint32_t rule, uint32_t origin) {
  // Where it matched the empty text, those that wait for it went on as they were added.
  if (origin + 1 == columns_.size()) return;
  const Begun last = last_of({rule, origin});
  if (last.rule == grammar_->start() && last.origin == 0) columns_.back().complete = true;
  advance_waiting(last.origin, Grammar::rule_code(last.rule));
}

void Chart::advance_waiting(uint32_t column, uint32_t code) {
  // The column is an earlier one; adding moves items in memory.
  const auto all = may_wait(column, code);
  const auto begin = static_cast<size_t>(all.data() - items_.data());
  const size_t end = begin + all.size();
  n_steps_ += all.size();
  for (size_t i = begin; i < end; ++i) {
    if (grammar_->slot(items_[i].slot).code == code) advance(Item(items_[i]));
  }
}

// Items of an earlier column, with all that wait for the code.
std::span<const Chart::Item> Chart::may_wait(uint32_t column, uint32_t code) const {
  const auto all = items(column);
  if (all.size() <= kMostScanned) return all;
  const auto code_of = [&](const Item& item) { return grammar_->slot(item.slot).code; };
  const auto found = std::ranges::equal_range(all, code, {}, code_of);
  return {found.begin(), found.end()};
}

void Chart::advance(const Item& item) {
  const Grammar::Slot& slot = grammar_->slot(item.slot);
  if (slot.kind != Grammar::Kind::kRepeat) return add({item.slot + 1, item.origin, 0});
  if (item.count >= slot.most) return;
  // Without an end, only whether it is enough counts.
  const uint32_t most = slot.most == kUnbounded ? slot.least : slot.most;
  add({item.slot, item.origin, std::min(item.count + 1, most)});
}

void Chart::add(Item item) {
  if ((n_in_table_ + 1) * 2 > table_.size()) grow_table();
  size_t at = place(item.slot, item.origin, item.count) & (table_.size() - 1);
  while (table_[at].turn == turn_) {
    if (items_[table_[at].item] == item) return;
    at = (at + 1) & (table_.size() - 1);
  }
  table_[at] = {turn_, static_cast<uint32_t>(items_.size())};
  ++n_in_table_;
  items_.push_back(item);
}

void Chart::grow_table() {
  table_.assign(table_.size() * 2, Entry());
  for (size_t i = columns_.back().items; i < items_.size(); ++i) {
    size_t at = place(items_[i].slot, items_[i].origin, items_[i].count) & (table_.size() - 1);
    while (table_[at].turn == turn_) at = (at + 1) & (table_.size() - 1);
    table_[at] = {turn_, static_cast<uint32_t>(i)};
  }
}

size_t Chart::size_bytes() const {
  return items_.capacity() * sizeof(Item) + last_of_.capacity() * sizeof(Begun) +
         lexemes_.capacity() * sizeof(uint32_t) + columns_.capacity() * sizeof(Column) +
         table_.capacity() * sizeof(Entry);
}

}  // namespace puna::grammar
