// Process: a program that this one has started, with its stdin, stdout and stderr. It gets no other
// descriptor, and signals of the terminal do not reach it. Linux.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::manager {

class Process {
 public:
  // `command`: the path of the program, then what it is called with, its own name first. Errors:
  // kIo saying what is used up: descriptors, processes.
  static base::Result<std::unique_ptr<Process>> start(const std::string& path,
                                                      const std::vector<std::string>& arguments);
  // Ends it at once, if it has not ended.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  // To be read without waiting; of the process (pidfd): readable when it has ended.
  int output() const { return output_; }
  int errors() const { return errors_; }
  int ending() const { return ending_; }

  // To its stdin. False: it reads no more.
  bool write(std::string_view text) const;
  // Its stdin ends, which asks it to end.
  void end_input();
  void kill() const;
  // Once it has ended: how, as a sentence ("It was ended by the signal 9 (Killed)."); none: it has
  // not, within so long.
  std::optional<std::string> wait(std::chrono::milliseconds time);

 private:
  Process() = default;

  pid_t id_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1, ending_ = -1;
  std::optional<std::string> ended_;
};

}  // namespace puna::manager
