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
#include "chat/reply.h"
#include "engine/engine.h"
#include "service/model.h"

namespace puna::service {

// Whether and how much a model thinks before it answers, where its template has a switch for it.
enum class Think { kDefault, kOff, kOn, kLow, kMedium, kHigh };

struct Request {
  // One of the three:
  std::vector<chat::Message>
      messages;                 // rendered with the model's template; the last is the user's
  std::string prompt;           // completed as it stands
  std::vector<int32_t> tokens;  // evaluated as they stand, nothing added

  Think think = Think::kDefault;  // for messages
  // For messages: the tools that the model may call, as the OpenAI interface lists them; an array,
  // or null for none.
  base::Json tools{};
  kernels::SamplingParams sampling;
  std::optional<uint32_t> max_tokens;
  std::vector<std::string> stop;  // the text ends before the first of these
  bool ignore_end = false;
  const std::atomic<bool>* cancel = nullptr;
  const std::atomic<bool>* hold = nullptr;  // as of engine::GenerateOptions
};

// A token may bring several events: the end of the thinking and the first of the text, say.
struct Event {
  using Kind = chat::ReplyEvent::Kind;

  int32_t token = -1;
  std::string_view text;  // what became complete with this token; may be empty
  Kind kind = Kind::kContent;
  size_t call = 0;  // of the tool call that the text is of; calls come when they are complete
};
using OnEvent = std::function<void(const Event&)>;

struct Reply {
  std::string text;          // the answer
  chat::ParsedReply parsed;  // of messages: the answer again, and the thinking before it
  std::vector<int32_t> tokens;
  engine::GenerateStats stats;
};

// Runs a request, beside others that run; it and the model outlive the task. Errors:
// kInvalidArgument (empty prompt, above the context, bad parameters), kUnsupported (messages for a
// model without a template, thinking for one without that switch, tools for one that is shown
// none), those of the device.
base::Task<base::Result<Reply>> respond(LoadedModel& model, const Request& request,
                                        OnEvent on_event);
// The tokens that a request begins with. Errors: as respond().
base::Result<std::vector<int32_t>> prompt_tokens(const LoadedModel& model, const Request& request);
// The same as respond(), blocking.
base::Result<Reply> run(LoadedModel& model, const Request& request, const OnEvent& on_event);

// What the model answered, as the message that the next request begins with: with its tool calls,
// and its thinking in the member that the model's template knows, which leaves out of the prompt
// what is not to be read again.
chat::Message assistant_message(const LoadedModel& model, const Reply& reply);

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
