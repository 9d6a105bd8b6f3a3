#include "service/reply_reader.h"

#include <utility>

namespace puna::service {

ReplyReader::ReplyReader(const Prepared& prepared) {
  if (!prepared.style) return;
  parser_ = prepared.style->make_parser({.tools = prepared.request.tools,
                                         .thinking_open = prepared.thinking_open,
                                         .stream_arguments = prepared.request.stream_arguments});
}

void ReplyReader::read(const Piece& piece, std::deque<Event>& events) {
  const kernels::Chosen& chosen = piece.chosen;
  if (chosen.id != kernels::kNoToken) reply_.tokens.push_back(chosen.id);
  if (chosen.logprob) reply_.chosen.push_back(chosen);
  if (!piece.stop_text.empty()) reply_.stop_text = piece.stop_text;
  if (parser_) return add(chosen, parser_->feed(piece.text), events);
  reply_.text += piece.text;
  events.push_back(
      {.token = chosen.id, .text = piece.text, .logprob = chosen.logprob, .top = chosen.top});
}

Reply ReplyReader::finish(const engine::GenerateStats& stats, std::deque<Event>& events) {
  if (parser_) {
    add({}, parser_->finish(), events);
    reply_.parsed = parser_->reply();
    reply_.text = reply_.parsed.content;
  }
  reply_.stats = stats;
  return std::move(reply_);
}

void ReplyReader::add(const kernels::Chosen& chosen, std::vector<chat::ReplyEvent> parts,
                      std::deque<Event>& events) {
  if (parts.empty() && chosen.id != kernels::kNoToken) parts.emplace_back();
  const size_t first = events.size();
  for (chat::ReplyEvent& part : parts)
    events.push_back({chosen.id, std::move(part.text), part.kind, part.call});
  if (parts.empty()) return;
  events[first].logprob = chosen.logprob;
  events[first].top = chosen.top;
}

}  // namespace puna::service
