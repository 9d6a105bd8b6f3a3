#include "server/run.h"

#include <algorithm>

#include "base/json.h"

namespace puna::server {

using base::Json;

namespace {

struct Field {
  const char* name;
  uint64_t Totals::* value;
};
constexpr Field kFields[] = {
    {"prompt", &Totals::n_prompt},       {"cached", &Totals::n_cached},
    {"generated", &Totals::n_generated}, {"texts", &Totals::n_texts},
    {"cancelled", &Totals::n_cancelled}, {"decoded", &Totals::n_decoded},
    {"embedded", &Totals::n_embedded},   {"most", &Totals::most_tokens},
    {"prompt_us", &Totals::prompt_us},   {"decode_us", &Totals::decode_us},
};

uint64_t us_of(double ms) { return static_cast<uint64_t>(std::max(0.0, ms) * 1e3); }

}  // namespace

void Totals::add(const Totals& more) {
  for (const Field& field : kFields) {
    if (field.value != &Totals::most_tokens) this->*field.value += more.*field.value;
  }
  most_tokens = std::max(most_tokens, more.most_tokens);
  gaps.add(more.gaps);
}

Totals totals_of(const service::Reply& reply) {
  const engine::GenerateStats& stats = reply.stats;
  Totals out{.n_prompt = stats.n_prompt, .n_cached = stats.n_cached, .n_texts = 1};
  out.n_generated = stats.n_generated;
  out.n_cancelled = stats.stop == engine::StopReason::kCancelled ? 1 : 0;
  out.n_decoded = stats.n_generated > 0 ? stats.n_generated - 1 : 0;
  out.most_tokens = uint64_t{stats.n_prompt} + stats.n_cached + stats.n_generated;
  out.prompt_us = us_of(stats.prompt_ms);
  out.decode_us = us_of(stats.decode_ms);
  return out;
}

Totals totals_of_embedded(uint64_t n_tokens, double ms) {
  Totals out;
  out.n_embedded = n_tokens;
  out.prompt_us = us_of(ms);
  return out;
}

std::string to_text(const Totals& totals) {
  Json out = Json::object();
  for (const Field& field : kFields) out.set(field.name, totals.*field.value);
  Json counts = Json::array();
  for (const uint64_t n : totals.gaps.counts) counts.push(n);
  return out.set("gaps", std::move(counts)).set("gaps_us", totals.gaps.sum_us).dump();
}

std::optional<Totals> read_totals(std::string_view text) {
  const auto json = Json::parse(text);
  if (!json) return {};
  Totals out;
  for (const Field& field : kFields) {
    const auto value = json->get_integer(field.name);
    if (!value) return {};
    out.*field.value = static_cast<uint64_t>(std::max<int64_t>(*value, 0));
  }
  const Json* const counts = json->find("gaps");
  const auto sum_us = json->get_integer("gaps_us");
  if (!counts || !counts->is_array() || counts->items().size() != Durations::kBuckets || !sum_us)
    return {};
  for (size_t i = 0; i < Durations::kBuckets; ++i) {
    const Json& n = counts->items()[i];
    if (!n.is_integer()) return {};
    out.gaps.counts[i] = static_cast<uint64_t>(std::max<int64_t>(n.integer(), 0));
  }
  out.gaps.sum_us = static_cast<uint64_t>(std::max<int64_t>(*sum_us, 0));
  return out;
}

}  // namespace puna::server
