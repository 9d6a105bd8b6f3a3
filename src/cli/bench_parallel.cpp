#include "cli/bench_parallel.h"

#include <algorithm>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace puna::cli {

using base::Json;
using base::Result;

namespace {

double median(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

Json rate_json(std::vector<double> tokens_per_s) {
  std::ranges::sort(tokens_per_s);
  Json rate = Json::object();
  rate.set("min", tokens_per_s.front())
      .set("median", median(tokens_per_s))
      .set("max", tokens_per_s.back());
  return rate;
}

Result<Json> bench_parallel(service::LoadedModel& model, const std::vector<uint32_t>& texts,
                            service::Together what, uint32_t repeats) {
  Json results = Json::array();
  const base::Timer since_start;
  for (const uint32_t n : texts) {
    what.n_texts = n;
    std::vector<double> prompt, answer;
    service::TogetherTimes times;
    for (bool counts = false; prompt.size() < repeats;
         counts = counts || since_start.ms() > kWarmMs) {
      if (interrupted())
        return base::fail(base::ErrorCode::kCancelled, "The benchmark was interrupted.");
      what.salt += n + 1;  // prompts that no earlier text began with
      PUNA_TRY(times, base::run_until(service::time_together(model, what), [&] { model.poll(); }));
      if (!counts) continue;
      prompt.push_back(n * what.n_prompt * 1000.0 / times.prompt_ms);
      if (times.answer_ms > 0) answer.push_back(times.n_answer_tokens * 1000.0 / times.answer_ms);
    }
    Json r = Json::object();
    r.set("texts", n).set("prompt", what.n_prompt).set("answer", what.n_answer);
    r.set("shared_prefix", what.n_shared).set("prompt_tokens", times.n_prompt_tokens);
    r.set("prompt_tokens_per_s", rate_json(prompt));
    if (!answer.empty()) r.set("answer_tokens_per_s", rate_json(answer));
    results.push(std::move(r));
  }
  return results;
}

void print_parallel(const Json& results) {
  print_out("{:>6} {:>7} {:>7} {:>7} {:>10} {:>14} {:>14}\n", "texts", "prompt", "shared", "answer",
            "evaluated", "prompt tok/s", "answer tok/s");
  for (const Json& r : results.items()) {
    const Json* answer = r.find("answer_tokens_per_s");
    print_out("{:>6} {:>7} {:>7} {:>7} {:>10} {:>14.1f} {:>14.1f}\n", r.find("texts")->integer(),
              r.find("prompt")->integer(), r.find("shared_prefix")->integer(),
              r.find("answer")->integer(), r.find("prompt_tokens")->integer(),
              r.find("prompt_tokens_per_s")->find("median")->number(),
              answer ? answer->find("median")->number() : 0.0);
  }
}

}  // namespace puna::cli
