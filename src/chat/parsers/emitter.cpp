#include "chat/parsers/emitter.h"

#include <utility>

namespace puna::chat {
namespace {

using Kind = ReplyEvent::Kind;

constexpr std::string_view kSpace = " \t\r\n";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }

}  // namespace

void Emitter::add(Kind kind, size_t call, std::string_view text) {
  std::vector<ReplyEvent>& to = !streams_ && kind >= Kind::kCallBegin ? section_ : events_;
  const bool goes_on =
      kind == Kind::kReasoning || kind == Kind::kContent || kind == Kind::kArguments;
  if (goes_on && !to.empty() && to.back().kind == kind && to.back().call == call) {
    to.back().text += text;
  } else {
    to.push_back({kind, call, std::string(text)});
  }
}

void Emitter::reasoning(std::string_view text) {
  for (const char c : text) {
    if (is_space(c)) {
      if (!section_starts_) reasoning_space_ += c;
      continue;
    }
    section_starts_ = false;
    if (!reply_.reasoning.empty()) {
      reply_.reasoning += reasoning_space_;
      add(Kind::kReasoning, 0, reasoning_space_);
    }
    reasoning_space_.clear();
    reply_.reasoning += c;
    add(Kind::kReasoning, 0, {&c, 1});
  }
}

void Emitter::new_reasoning() {
  reasoning_space_ = "\n\n";
  section_starts_ = true;
}
void Emitter::new_content() {
  if (has_content()) content_space_ = "\n\n";
}

void Emitter::content(std::string_view text) {
  for (const char c : text) {
    if (is_space(c)) {
      content_space_ += c;
      continue;
    }
    if (has_content() || keeps_leading_space_) {
      reply_.content += content_space_;
      if (!content_space_.empty()) add(Kind::kContent, 0, content_space_);
    }
    content_space_.clear();
    reply_.content += c;
    add(Kind::kContent, 0, {&c, 1});
  }
}

void Emitter::begin_call(std::string name) {
  add(Kind::kCallBegin, reply_.tool_calls.size(), name);
  reply_.tool_calls.push_back({.name = std::move(name)});
}

void Emitter::arguments(std::string_view text) {
  if (text.empty()) return;
  reply_.tool_calls.back().arguments += text;
  add(Kind::kArguments, reply_.tool_calls.size() - 1, text);
}

void Emitter::call_id(std::string id) {
  if (id.empty()) return;
  add(Kind::kCallId, reply_.tool_calls.size() - 1, id);
  reply_.tool_calls.back().id = std::move(id);
}

bool Emitter::end_call() {
  if (reply_.tool_calls.back().arguments.empty()) arguments("{}");
  const auto json = base::Json::parse(reply_.tool_calls.back().arguments);
  return json && json->is_object();
}

void Emitter::commit_calls() {
  committed_ = reply_.tool_calls.size();
  keeps_leading_space_ = false;
  for (ReplyEvent& event : section_) events_.push_back(std::move(event));
  section_.clear();
}

void Emitter::drop_calls(std::string_view raw) {
  section_.clear();
  if (reply_.tool_calls.size() > committed_) {
    reply_.tool_calls.resize(committed_);
    if (streams_) add(Kind::kCallDrop, committed_, {});
  }
  content(raw);
}

void Emitter::finish() {
  if (committed_ > 0 || (!has_content() && !keeps_leading_space_)) return;
  reply_.content += content_space_;
  if (!content_space_.empty()) add(Kind::kContent, 0, content_space_);
}

std::vector<ReplyEvent> Emitter::take() { return std::exchange(events_, {}); }

}  // namespace puna::chat
