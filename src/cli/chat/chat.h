// A conversation on the terminal: its turns, its settings, and what is printed of it. commands.h is
// the table of what begins with "/"; loop.h reads lines. Read next: chat_model.h.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/chat/chat_model.h"
#include "cli/chat/dragged.h"
#include "cli/prompt_media.h"

namespace puna::cli {

class LineReader;

struct ChatOptions {
  ChatSettings settings;
  std::string system;
  MediaFiles media;  // stand before the first message that is answered
  bool raw = false;  // each line is completed as plain text, after what came before
  bool hides_thinking = false;
  bool wraps = true;                               // lines, between words
  bool verbose = false;                            // figures after each answer
  std::function<void(const Figures&)> on_figures;  // after each answer, too; may be null
};

class Chat {
 public:
  // Both outlive it.
  Chat(ChatModel& model, LineReader& reader, ChatOptions options)
      : options(std::move(options)), model_(model), reader_(reader) {}

  // Asks, and prints the answer. Paths of pictures and sounds in it stand for these, where the
  // model has the sense for them (dragged.h). One that fails is reported, and leaves the
  // conversation as it was.
  void say(const std::string& message);
  // Forgets the oldest turns, until half of the context is free, and asks what had no room.
  void drop();
  void clear();
  // Takes changed settings, where the model can meet them; else says why not.
  bool change(const ChatSettings& settings);
  std::vector<chat::Message> messages() const;  // without the system's and without media
  bool has_media() const;

  ChatModel& model() { return model_; }
  LineReader& reader() { return reader_; }

  ChatOptions options;

 private:
  struct Turn {
    DraggedText asked;
    chat::Message answered;
    uint64_t n_tokens = 0;  // about
  };

  void ask(DraggedText message);
  Asked asked_with(const DraggedText& message) const;
  void refuse(DraggedText message, const base::Error& error);
  uint64_t n_tokens() const;  // of all turns, about

  ChatModel& model_;
  LineReader& reader_;
  std::deque<Turn> turns_;
  std::optional<DraggedText> unasked_;  // the message that the context had no room for
};

}  // namespace puna::cli
