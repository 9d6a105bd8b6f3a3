#include "service/reply_reader.h"

#include <utility>

namespace puna::service {
namespace {

Part part_of(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::kReasoning:
      return Part::kReasoning;
    case Event::Kind::kContent:
    case Event::Kind::kCallDrop:  // its text follows as content
      return Part::kContent;
    case Event::Kind::kCallBegin:
    case Event::Kind::kArguments:
    case Event::Kind::kCallId:
      return Part::kCall;
  }
  return Part::kContent;
}

}  // namespace

ReplyReader::ReplyReader(const Prepared& prepared) {
  if (!prepared.style || prepared.request.verbatim) return;
  thinking_ = prepared.request.thinking;
  if (prepared.style->thinking.empty()) thinking_ = Thinking::kApart;
  thinking_begins_ = prepared.style->thinking_begins() + "\n";
  thinking_ends_ = "\n" + prepared.style->thinking_ends() + "\n\n";
  parser_ = prepared.style->make_parser({.tools = prepared.request.tools,
                                         .thinking_open = prepared.thinking_open,
                                         .stream_arguments = prepared.request.stream_arguments});
}

void ReplyReader::read(const Piece& piece, std::deque<Event>& events) {
  const kernels::Chosen& chosen = piece.chosen;
  if (chosen.id != kernels::kNoToken) reply_.tokens.push_back(chosen.id);
  if (chosen.logprob) reply_.chosen.push_back(chosen);
  if (!piece.stop_text.empty()) reply_.stop_text = piece.stop_text;
  const size_t first = events.size();
  if (parser_) {
    add(chosen, parser_->feed(piece.text), events);
  } else {
    add_as_it_is(piece, events);
  }
  for (size_t i = first; i < events.size(); ++i) {
    events[i].n_tokens = static_cast<uint32_t>(reply_.tokens.size());
    events[i].ms = piece.ms;
  }
}

void ReplyReader::add_as_it_is(const Piece& piece, std::deque<Event>& events) {
  const kernels::Chosen& chosen = piece.chosen;
  reply_.text += piece.text;
  if (!piece.text.empty()) reply_.parts.resize(reply_.tokens.size(), Part::kContent);
  events.push_back(
      {.token = chosen.id, .text = piece.text, .logprob = chosen.logprob, .top = chosen.top});
}

Reply ReplyReader::finish(const engine::GenerateStats& stats, std::deque<Event>& events) {
  if (parser_) {
    std::vector<chat::ReplyEvent> parts = parser_->finish();
    // The model has ended: so has its thinking.
    if (stats.stop == engine::StopReason::kEnd && thinking_ != Thinking::kApart)
      parts.emplace_back();
    add({}, std::move(parts), events);
    reply_.parsed = parser_->reply();
    if (thinking_ != Thinking::kApart) reply_.parsed.content = std::move(content_);
    if (thinking_ == Thinking::kInContent) reply_.parsed.reasoning.clear();
    reply_.text = reply_.parsed.content;
  }
  reply_.stats = stats;
  return std::move(reply_);
}

void ReplyReader::add(const kernels::Chosen& chosen, std::vector<chat::ReplyEvent> parts,
                      std::deque<Event>& events) {
  parts = with_thinking(std::move(parts));
  place(parts);
  if (parts.empty() && chosen.id != kernels::kNoToken) parts.emplace_back();
  const size_t first = events.size();
  for (chat::ReplyEvent& part : parts)
    events.push_back({chosen.id, std::move(part.text), part.kind, part.call});
  if (parts.empty()) return;
  events[first].logprob = chosen.logprob;
  events[first].top = chosen.top;
}

std::vector<chat::ReplyEvent> ReplyReader::with_thinking(std::vector<chat::ReplyEvent> parts) {
  if (thinking_ == Thinking::kApart) return parts;
  using Kind = Event::Kind;
  std::vector<chat::ReplyEvent> out;
  const auto write = [&](std::string text) {
    content_ += text;
    out.push_back({.kind = Kind::kContent, .text = std::move(text)});
  };
  for (chat::ReplyEvent& part : parts) {
    if (part.kind == Kind::kReasoning) {
      std::string text = (thinks_ ? "" : thinking_begins_) + part.text;
      if (thinking_ == Thinking::kBoth) out.push_back(std::move(part));
      write(std::move(text));
      thinks_ = true;
      continue;
    }
    if (std::exchange(thinks_, false)) write(thinking_ends_);
    if (part.kind == Kind::kContent) {
      if (!part.text.empty()) write(std::move(part.text));
    } else {
      out.push_back(std::move(part));
    }
  }
  return out;
}

void ReplyReader::place(const std::vector<chat::ReplyEvent>& parts) {
  const size_t n_tokens = reply_.tokens.size();
  if (!parts.empty()) {
    reply_.parts.resize(n_tokens, part_of(parts.front().kind));
    part_ = part_of(parts.back().kind);
  } else if (part_ != Part::kContent) {
    // Text that waits for more, or the mark behind a part. Within the content it may be the mark
    // before another part, which the next event tells.
    reply_.parts.resize(n_tokens, part_);
  }
}

}  // namespace puna::service
