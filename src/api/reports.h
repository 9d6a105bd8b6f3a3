// What llama.cpp's server tells of answers beside them, where a request asks for it. Source:
// llama.cpp's server, README, "POST /completion".
#pragma once

#include "api/fields.h"
#include "base/json.h"
#include "service/request.h"

namespace puna::api {

struct Reports {
  bool progress = false;  // a stream tells how far the prompt is read
  bool timings = false;   // each piece of a stream has what was counted and measured so far
  bool verbose = false;   // OpenAI's answers have themselves in llama.cpp's form beside
};

// Of return_progress, timings_per_token and verbose, which stands for `verbose` where it is not
// given.
Reports read_reports(const Body& body, bool verbose);

// {total, cache, processed, time_ms}
base::Json progress_json(const engine::PromptProgress& progress);

// What was counted and measured of a text until now, as its reply has it in the end.
class RunningStats {
 public:
  void note(const service::Event& event);
  const engine::GenerateStats& stats() const { return stats_; }

 private:
  engine::GenerateStats stats_;
};

}  // namespace puna::api
