// A request to a model, what it brings while it is answered, and the whole answer. Values: who
// makes a request and who answers it need not be the same thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "chat/messages.h"
#include "chat/reply.h"
#include "engine/scheduler.h"
#include "grammar/lazy.h"
#include "kernels/sample/chosen.h"
#include "kernels/sample/sampling.h"
#include "service/media_prompt.h"
#include "service/thinking_control.h"

namespace puna::service {

// Whether and how much a model thinks before it answers, where its template has a switch for it.
enum class Think { kDefault, kOff, kOn, kLow, kMedium, kHigh };

// Where the thinking before an answer is.
enum class Thinking : uint8_t {
  kApart,      // beside its text
  kInContent,  // in its text, between the marks of the model
  kBoth,
};

// What an answer has to be, to the last byte. The thinking before it is free.
struct AnswerForm {
  enum class Kind : uint8_t { kSchema, kGrammar, kRegex };
  Kind kind = Kind::kSchema;
  std::string text;     // a JSON schema as JSON, a grammar as GBNF, a regular expression
  bool strict = false;  // of a schema: as grammar::JsonSchemaOptions has it
  // Not empty: the answer is free until one of them stands in it (grammar/lazy.h).
  std::vector<grammar::Trigger> triggers{};
  // Of a grammar: marks of control tokens, which may be written as the token.
  std::vector<std::string> controls{};
  bool operator==(const AnswerForm&) const = default;
};

// Which tools an answer calls. A call that has begun is always whole, names one of them, and its
// arguments fit the schema of its parameters.
struct ToolChoice {
  bool required = false;             // it is at least one call; else it may be none
  bool one_call = false;             // it ends behind its first call
  std::vector<std::string> names{};  // only these are called; empty: any
};

using engine::Control;

struct Request {
  // One of the three:
  std::vector<chat::Message>
      messages;                 // rendered with the model's template; the last is the user's
  std::string prompt;           // completed as it stands
  std::vector<int32_t> tokens;  // evaluated as they stand, nothing added

  // Pictures and sounds in the messages' contents or in the prompt, in the order of their places.
  std::vector<PlacedMedia> media{};

  Think think = Think::kDefault;  // for messages
  // For messages: the tools that the model may call, as the OpenAI interface lists them; an array,
  // or null for none.
  base::Json tools{};
  ToolChoice tool_choice{};
  // For messages: further variables of the template; an object, or null for none.
  base::Json variables{};
  // For messages: the last one, which is the assistant's, is not over: the answer goes on behind
  // its text (or its thinking, where it has nothing else), and holds only what is new.
  bool continue_last = false;
  // For messages that are not continued: the prompt ends with what answers begin with.
  bool begins_answer = true;
  // For messages: what agents change in them from request to request stays as it is
  // (chat/nonces.h).
  bool keep_nonces = false;
  // The arguments of calls come while they are written, and Event::Kind::kCallDrop may come: for
  // readers that can take a call back. Else a call comes when it is complete and valid.
  bool stream_arguments = false;
  // For messages: where thinking goes; how many tokens of it there may be, and what is written
  // before its end where there would be more.
  Thinking thinking = Thinking::kApart;
  std::optional<uint32_t> max_thinking;
  std::string thinking_message;
  // Whoever sets `end` in it ends the thinking. Null: nobody does.
  std::shared_ptr<ThinkingControl> thinking_control;
  bool verbatim = false;  // for messages: the answer is as it was written, with thinking and calls
  bool special = false;   // control tokens are written out
  std::vector<std::string> preserved{};  // the marks of those that are written out in any case
  bool reuse = true;                     // what is known of the prompt is not evaluated again
  kernels::SamplingParams sampling;
  std::optional<uint32_t> max_tokens;
  // Where tools may be called the answer is calls or of the form.
  std::optional<AnswerForm> form;
  std::vector<std::string> stop;  // the text ends before the first of these
  bool ignore_end = false;
  // Where the context is full; none: the text ends. Of its n_keep BOS is not one.
  std::optional<engine::Shift> shift;
  // Whoever sets cancel in it stops the text; hold belongs to the host (host.h). Null: nobody else
  // does.
  std::shared_ptr<Control> control;
};

// A token may bring several events: the end of the thinking and the first of the text, say. Before
// the first token some may tell how far the prompt is read; they bring nothing else.
struct Event {
  using Kind = chat::ReplyEvent::Kind;

  int32_t token = -1;
  std::string text;  // what became complete with this token; may be empty
  Kind kind = Kind::kContent;
  size_t call = 0;  // of the tool call that the text is of
  // Of the token, where the request asks for them (SamplingParams::n_probs); in its first event.
  std::optional<float> logprob = {};
  std::vector<kernels::TokenLogprob> top = {};
  std::optional<engine::PromptProgress> prompt = {};
  // Tokens of the answer so far, and the time since the text had a sequence; 0 of what is left at
  // the end.
  uint32_t n_tokens = 0;
  double ms = 0;
};
using OnEvent = std::function<void(const Event&)>;

// What a token of an answer is of.
enum class Part : uint8_t { kReasoning, kContent, kCall };

struct Reply {
  std::string text;          // the answer
  chat::ParsedReply parsed;  // of messages: the answer again, and the thinking before it
  std::vector<int32_t> tokens;
  // Of each token, up to the last that anything came of. Marks count to what they open or close.
  std::vector<Part> parts;
  // With their probabilities; empty where the request does not ask for them.
  std::vector<kernels::Chosen> chosen;
  std::string stop_text;  // the one of Request::stop that the text ended before; empty: none
  engine::GenerateStats stats;
};

}  // namespace puna::service
