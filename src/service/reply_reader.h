// ReplyReader: reads the pieces of a text (respond.h) as what they mean: the answer, the thinking
// before it, calls of tools. On the thread of whoever wants to know.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "chat/parsers.h"
#include "service/prepare.h"
#include "service/request.h"
#include "service/respond.h"

namespace puna::service {

class ReplyReader {
 public:
  explicit ReplyReader(const Prepared& prepared);

  // Adds to `events` what a piece brings; a piece with a token brings one event at least.
  void read(const Piece& piece, std::deque<Event>& events);
  // Behind the last piece: what is left, and all of it.
  Reply finish(const engine::GenerateStats& stats, std::deque<Event>& events);

 private:
  // Where there is no parser.
  void add_as_it_is(const Piece& piece, std::deque<Event>& events);
  // chosen: the token that brings the parts; none at the end.
  void add(const kernels::Chosen& chosen, std::vector<chat::ReplyEvent> parts,
           std::deque<Event>& events);
  // Puts thinking into the text, where the request wants it there.
  std::vector<chat::ReplyEvent> with_thinking(std::vector<chat::ReplyEvent> parts);

  // Says what the last tokens are of, as far as the events that they bring tell it.
  void place(const std::vector<chat::ReplyEvent>& parts);

  std::unique_ptr<chat::ReplyParser> parser_;  // null: the text is the answer as it stands
  Thinking thinking_ = Thinking::kApart;
  std::string thinking_begins_, thinking_ends_;  // in the text
  bool thinks_ = false;                          // the text is between these
  std::string content_;                          // with thinking in it
  Part part_ = Part::kContent;                   // of the last event
  Reply reply_;
};

}  // namespace puna::service
