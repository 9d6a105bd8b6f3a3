// Session: one conversation or completion with a loaded model. Requests in, a stream of events out;
// text only appears here in whole UTF-8 characters and never includes a stop string.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/messages.h"
#include "engine/engine.h"
#include "service/open.h"

namespace puna::service {

struct Request {
  // One of the three:
  std::vector<chat::Message>
      messages;                 // rendered with the model's template; the last is the user's
  std::string prompt;           // completed as it stands
  std::vector<int32_t> tokens;  // evaluated as they stand, nothing added

  kernels::SamplingParams sampling;
  std::optional<uint32_t> max_tokens;
  std::vector<std::string> stop;  // the text ends before the first of these
  bool ignore_end = false;
  const std::atomic<bool>* cancel = nullptr;
};

struct Event {
  int32_t token = -1;
  std::string_view text;  // what became complete with this token; may be empty
};
using OnEvent = std::function<void(const Event&)>;

struct Reply {
  std::string text;
  std::vector<int32_t> tokens;
  engine::GenerateStats stats;
};

// Runs a request on sequence 0 of the model. Errors: kInvalidArgument (empty prompt, above the
// context, bad parameters), kUnsupported (messages for a model without a template), those of the
// device.
base::Result<Reply> run(LoadedModel& model, const Request& request, const OnEvent& on_event);

// Holds back the end of a text as long as it may still become a stop string.
class StopFilter {
 public:
  explicit StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // What may be shown now; sets stopped() when a stop string has been completed.
  std::string push(std::string_view text);
  // What is left at the end.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace puna::service
