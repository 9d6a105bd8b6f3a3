// What the program shares about its terminal: progress bars and Ctrl-C.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "service/request.h"

namespace puna::cli {

// Set by the first Ctrl-C, SIGTERM or SIGHUP (the second ends the process at once).
// catch_interrupts() installs the handler, and has no bound of a file's size end the process.
std::atomic<bool>& interrupted();
void catch_interrupts();
// Of a request that ends when interrupted() is set.
std::shared_ptr<service::Control> interrupt_control();
// Waits until stdin has something to read, or has ended. False: a signal came first, or before.
bool wait_for_input();
// Waits until a signal has come: one that ends the process, or, after catch_hangups(), SIGHUP,
// which then does not.
enum class Signal : uint8_t { kEnd, kHangup };
Signal wait_for_signal();
void catch_hangups();
// Whether SIGTERM or SIGHUP came: Ctrl-C ends an answer of a chat, these the chat.
bool terminated();
constexpr int kInterruptedExit = 130;
// From now on Ctrl-C only sets interrupted(), however often it is pressed: of a chat.
void keep_running();

// A bar with bytes, rate and remaining time on stderr; silent unless stderr is a terminal.
class ProgressBar {
 public:
  ~ProgressBar() { clear(); }
  void update(std::string_view what, uint64_t done_bytes, uint64_t total_bytes);
  // The same for things that are counted.
  void count(std::string_view what, uint64_t done, uint64_t total);
  void clear();

 private:
  std::string what_;
  base::Timer started_;
  base::Timer shown_;
  uint64_t first_bytes_ = 0;
  bool visible_ = false;
};

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();
// Its width in characters; 0: it is no terminal, or does not say.
size_t columns_of(std::FILE* stream);
// Whether it shows colours: a terminal, unless NO_COLOR is set or TERM is dumb.
bool shows_colours(std::FILE* stream);

// "1.5 GB", "640 kB"
std::string human_bytes(uint64_t bytes);

}  // namespace puna::cli
