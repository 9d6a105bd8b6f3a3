// puna bench --parallel: prompts and answers of several texts at once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "service/bench.h"

namespace puna::cli {

// Runs before the first that counts warm caches and clocks: an H200 took 150 ms to reach its speed.
constexpr double kWarmMs = 300;

// Each number of texts in turn, `repeats` times after one that does not count, and before the first
// of them as many as take kWarmMs. `what` says what each text is. An item of the result:
//   texts, prompt, answer, shared_prefix   as asked for
//   prompt_tokens                          evaluated, of all texts; fewer where prefixes are shared
//   prompt_tokens_per_s, answer_tokens_per_s   {min, median, max}: prompt tokens as asked for,
//                                          until every text has its first token; then answer tokens
// Errors: kCancelled after an interrupt; those of the engine.
base::Result<base::Json> bench_parallel(service::LoadedModel& model,
                                        const std::vector<uint32_t>& texts, service::Together what,
                                        uint32_t repeats);
void print_parallel(const base::Json& results);

// {min, median, max} of rates, for reports.
base::Json rate_json(std::vector<double> tokens_per_s);

}  // namespace puna::cli
