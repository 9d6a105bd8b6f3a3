// Collects what a parser finds: merges deltas into events and keeps the reply. White space between
// thinking, text and calls is held back until it is known whether text follows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/reply.h"

namespace puna::chat {

class Emitter {
 public:
  explicit Emitter(bool stream_arguments) : streams_(stream_arguments) {}

  void reasoning(std::string_view text);
  void end_reasoning() { keeps_leading_space_ = false; }
  // A further section of thinking, or of text, as families with several messages have them: an
  // empty line stands between it and the one before.
  void new_reasoning();
  void new_content();
  void content(std::string_view text);
  void end_content() { content_space_.clear(); }  // a mark ends the text

  // A section holds one or more calls; it ends with commit_calls() or drop_calls().
  void begin_call(std::string name);
  void arguments(std::string_view text);
  void call_id(std::string id);
  // Whether the arguments of the last call are a JSON object; without any they become {}.
  bool end_call();
  void commit_calls();
  // The section was no calls after all: `raw`, its text, becomes content.
  void drop_calls(std::string_view raw);

  void finish();
  std::vector<ReplyEvent> take();
  const ParsedReply& reply() const { return reply_; }
  bool has_content() const { return !reply_.content.empty(); }

 private:
  void add(ReplyEvent::Kind kind, size_t call, std::string_view text);

  const bool streams_;
  ParsedReply reply_;
  std::vector<ReplyEvent> events_;   // to be taken
  std::vector<ReplyEvent> section_;  // of calls that are not complete, when not streaming
  size_t committed_ = 0;             // calls that stay
  bool keeps_leading_space_ = true;  // before the content: nothing came before it
  bool section_starts_ = false;      // no reasoning yet in a further section
  std::string reasoning_space_;      // white space after the reasoning
  std::string content_space_;        // white space after the content
};

}  // namespace puna::chat
