#include "api/reports.h"

namespace puna::api {

Reports read_reports(const Body& body, bool verbose) {
  return {.progress = body.flag("return_progress").value_or(false),
          .timings = body.flag("timings_per_token").value_or(false),
          .verbose = body.flag("verbose").value_or(verbose)};
}

base::Json progress_json(const engine::PromptProgress& progress) {
  base::Json out = base::Json::object();
  out.set("total", progress.n_tokens).set("cache", progress.n_cached);
  return out.set("processed", progress.n_read).set("time_ms", static_cast<int64_t>(progress.ms));
}

void RunningStats::note(const service::Event& event) {
  if (event.prompt) {
    stats_.n_cached = event.prompt->n_cached;
    stats_.n_prompt = event.prompt->n_read - event.prompt->n_cached;
    stats_.prompt_ms = event.prompt->ms;
  }
  // What is left at the end comes with no token.
  if (event.token < 0) return;
  if (stats_.n_generated == 0) stats_.prompt_ms = event.ms;
  stats_.n_generated = event.n_tokens;
  stats_.decode_ms = event.ms - stats_.prompt_ms;
}

}  // namespace puna::api
