#include "service/reply_reader.h"

#include <utility>

namespace puna::service {

ReplyReader::ReplyReader(const Prepared& prepared) {
  if (!prepared.style) return;
  parser_ = prepared.style->make_parser({.tools = prepared.request.tools,
                                         .thinking_open = prepared.thinking_open,
                                         .stream_arguments = false});
}

void ReplyReader::read(const Piece& piece, std::deque<Event>& events) {
  if (piece.token >= 0) reply_.tokens.push_back(piece.token);
  if (parser_) return add(piece.token, parser_->feed(piece.text), events);
  reply_.text += piece.text;
  events.push_back({piece.token, piece.text});
}

Reply ReplyReader::finish(const engine::GenerateStats& stats, std::deque<Event>& events) {
  if (parser_) {
    add(-1, parser_->finish(), events);
    reply_.parsed = parser_->reply();
    reply_.text = reply_.parsed.content;
  }
  reply_.stats = stats;
  return std::move(reply_);
}

void ReplyReader::add(int32_t token, std::vector<chat::ReplyEvent> parts,
                      std::deque<Event>& events) {
  if (parts.empty() && token >= 0) events.push_back({token, {}});
  for (chat::ReplyEvent& part : parts)
    events.push_back({token, std::move(part.text), part.kind, part.call});
}

}  // namespace puna::service
