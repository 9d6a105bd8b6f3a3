// A ReplyParser that looks at one byte at a time, so that where the text is cut cannot matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "chat/parsers/emitter.h"

namespace puna::chat {

class ByteParser : public ReplyParser {
 public:
  explicit ByteParser(const ParserOptions& options) : out_(options.stream_arguments) {}

  std::vector<ReplyEvent> feed(std::string_view text) final {
    cut_ += text;
    const size_t whole = base::utf8_complete_prefix(cut_);
    for (size_t i = 0; i < whole; ++i) push(cut_[i]);
    cut_.erase(0, whole);
    return out_.take();
  }
  std::vector<ReplyEvent> finish() final {
    for (const char c : cut_) push(c);
    cut_.clear();
    end();
    out_.finish();
    return out_.take();
  }
  const ParsedReply& reply() const final { return out_.reply(); }

 protected:
  virtual void push(char c) = 0;
  virtual void end() = 0;

  Emitter out_;

 private:
  std::string cut_;  // the first bytes of a character
};

// Finds markers in a text that arrives byte by byte.
class MarkerFinder {
 public:
  // Adds a byte. Returns the index of the marker that it completes, or -1. What can be no marker
  // any more is appended to `passed`.
  int push(char c, const std::vector<std::string_view>& markers, std::string& passed) {
    held_ += c;
    while (!held_.empty()) {
      bool may_become = false;
      for (size_t i = 0; i < markers.size(); ++i) {
        if (markers[i] == held_) {
          held_.clear();
          return static_cast<int>(i);
        }
        may_become = may_become || markers[i].starts_with(held_);
      }
      if (may_become) break;
      passed += held_.front();
      held_.erase(0, 1);
    }
    return -1;
  }
  // The start of a marker that never came.
  std::string rest() { return std::exchange(held_, {}); }
  bool holds() const { return !held_.empty(); }

 private:
  std::string held_;
};

}  // namespace puna::chat
