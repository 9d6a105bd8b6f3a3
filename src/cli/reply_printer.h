// Prints a reply while it is written: the answer on stdout, what the model thinks before it on
// stderr, grey where that is a terminal with colours; lines of a terminal are broken between words.
#pragma once

#include <string_view>

#include "cli/word_wrap.h"

namespace puna::cli {

class ReplyPrinter {
 public:
  struct Options {
    bool hides_thinking = false;
    bool wraps = true;  // on terminals
  };
  explicit ReplyPrinter(Options options);

  // A piece of the answer, or of the thinking.
  void show(std::string_view text, bool thinking);
  // Also at the end of a reply that is nothing but thinking. What was held back is printed.
  void end();

 private:
  void end_thinking();

  const Options options_;
  WordWrap answer_, thoughts_;
  bool thinking_ = false;
};

}  // namespace puna::cli
