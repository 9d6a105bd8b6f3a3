#include "grammar/chart.h"

#include <algorithm>

#include "base/check.h"

namespace puna::grammar {

namespace {

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

void Chart::add_column(std::span<const LexemeRun> ended) {
  begin_column();
  for (const LexemeRun& run : ended) advance_waiting(run.column, Grammar::lexeme_code(run.lexeme));
  finish_column();
}

void Chart::truncate(uint32_t n_columns) {
  if (n_columns == columns_.size()) return;
  items_.resize(columns_[n_columns].items);
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

// Every item may add more behind it.
void Chart::finish_column() {
  for (size_t i = columns_.back().items; i < items_.size(); ++i) {
    const Item item = items_[i];
    const Grammar::Slot& slot = grammar_->slot(item.slot);
    // The order in which items were found does not count.
    const bool is_here = item.origin + 1 == columns_.size();
    columns_.back().hash +=
        mix(is_here ? 0 : columns_[item.origin].hash, uint64_t{item.slot} << 32 | item.count);
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
  if (rule == grammar_->start() && origin == 0) columns_.back().complete = true;
  advance_waiting(origin, Grammar::rule_code(rule));
}

void Chart::advance_waiting(uint32_t column, uint32_t code) {
  // The column is an earlier one; adding moves items in memory.
  const size_t begin = columns_[column].items;
  const size_t end = columns_[column + 1].items;
  for (size_t i = begin; i < end; ++i) {
    if (grammar_->slot(items_[i].slot).code == code) advance(Item(items_[i]));
  }
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
  return items_.capacity() * sizeof(Item) + lexemes_.capacity() * sizeof(uint32_t) +
         columns_.capacity() * sizeof(Column) + table_.capacity() * sizeof(Entry);
}

}  // namespace puna::grammar
