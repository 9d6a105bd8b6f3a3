// Lines typed on the terminal, edited and remembered by libedit.
#pragma once

#include <optional>
#include <string>

// Of libedit.
struct editline;
struct history;

namespace puna::cli {

// The history is kept in the store's folder when there is one.
class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Without the newline; none at the end of input and when a signal came.
  std::optional<std::string> line(const char* shown);

 private:
  // For libedit: the next character as 1, 0 at the end of input, -1 when a signal came.
  static int read_key(editline* edit, wchar_t* key);
  static char* prompt(editline* edit);

  struct history* history_ = nullptr;
  struct editline* edit_ = nullptr;
  const char* prompt_ = "";
  std::string file_;  // of the history; empty for none
  std::string keys_;  // bytes of the character that is being read
};

}  // namespace puna::cli
