// Prints a reply while it is written: the answer on stdout, what the model thinks before it on
// stderr, grey where that is a terminal.
#pragma once

#include "service/request.h"

namespace puna::cli {

class ReplyPrinter {
 public:
  explicit ReplyPrinter(bool hides_thinking) : hides_thinking_(hides_thinking) {}

  void show(const service::Event& event);
  // Also at the end of a reply that is nothing but thinking.
  void end_thinking();

 private:
  const bool hides_thinking_;
  bool thinking_ = false;
};

}  // namespace puna::cli
