// Child: a process that runs one model, as the one that has started it sees it: words to and from
// it (child_words.h), its log, and its end. Any thread. Read next: children.h.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/result.h"
#include "service/host.h"

namespace puna::manager {

class Child {
 public:
  struct Program {
    std::string path = "/proc/self/exe";  // this one, even where its file was replaced
    std::vector<std::string> arguments{};
    // Without a word of how it gets on it is given up, or ended where it was asked to end.
    std::chrono::milliseconds stall{300'000}, grace{5'000};
  };
  // `name`: in the log, where its lines go. Errors: kIo where nothing can be started.
  static base::Result<std::unique_ptr<Child>> start(const Program& program,
                                                    const std::string& name);
  // Asks it to end, and has it ended after a while.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // A word that has no answer. False: it has ended.
  bool tell(const base::Json& word);
  // Says a word and waits for its answer, whose "is" is `answer`. Errors: what it says in its
  // place; kNetwork where it ends, or stalls; kCancelled. Afterwards it is of no use any more.
  base::Result<base::Json> ask(const base::Json& word, std::string_view answer,
                               const std::atomic<bool>* cancel);

  bool has_ended() const;
  // `told` is called, once, when it ends without having been asked to: on a thread of its own, or
  // from within where it has ended before.
  void when_died(std::function<void(const base::Error& error)> told);
  // Ends it now; nobody is told.
  void kill();
  service::HostStatus status() const;

 private:
  struct State;
  explicit Child(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace puna::manager
