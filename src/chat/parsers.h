// Picks the parser of what a model writes (reply.h) from the text of its chat template, which names
// the markers that the model was trained on. Models without a known marker get text only.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "chat/call_frame.h"
#include "chat/reply.h"

namespace puna::chat {

struct ReplyStyle {
  std::string_view name;      // "hermes"
  std::string_view families;  // for people
  std::string_view thinking;  // its marks with "…" between them; empty: it is not marked
  std::string_view calls;     // how a call is written; empty: not at all
  // Control tokens that the parser reads; their text must be in what it is fed. No others may be.
  std::span<const std::string_view> tokens;
  std::string_view think_open;  // empty: a prompt never ends inside of thinking
  std::unique_ptr<ReplyParser> (*make_parser)(const ParserOptions& options);
  const CallFrame* frame = nullptr;  // how its calls are written; null: it has none

  // The member of a message in which the family's templates look for earlier thinking.
  std::string_view reasoning_member = "reasoning_content";

  // Marks before the text of an answer, and before one behind thinking; empty: none.
  std::string_view answer_begins = {}, answer_begins_behind = {};

  // The templates refuse ids of calls that are not nine letters and digits.
  bool short_ids = false;

  // The marks around thinking; empty: it is not marked.
  std::string thinking_begins() const;
  std::string thinking_ends() const;
  bool reads_token(std::string_view text) const;
  // Whether a prompt ends inside of a thinking section, as templates that open one make it.
  bool opens_thinking(std::string_view prompt) const;
};

std::span<const ReplyStyle> reply_styles();
// The style of the models that `template_source` was written for; "plain" when no sign of another
// is in it.
const ReplyStyle& reply_style(std::string_view template_source);

}  // namespace puna::chat
