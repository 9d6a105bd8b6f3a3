// Lines typed on the terminal, edited and remembered by libedit.
#pragma once

#include <optional>
#include <string>

// Of libedit.
struct editline;
struct history;

namespace puna::cli {

// Lines are remembered in $PUNA_HOME/history, which only the user can read, unless PUNA_NOHISTORY
// or OLLAMA_NOHISTORY is set. Ctrl-G opens an editor (chat/editor.h): what it gives is the line,
// or, where it has several lines, what line() returns at once.
class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Without the newline; none at the end of input and when a signal came.
  std::optional<std::string> line(const char* shown);
  // Whether lines are remembered from now on.
  void keep_history(bool keeps) { keeps_history_ = keeps; }

 private:
  // For libedit: the next character as 1, 0 at the end of input, -1 when a signal came.
  static int read_key(editline* edit, wchar_t* key);
  static char* prompt(editline* edit);
  static unsigned char open_editor(editline* edit, int key);
  void remember(const char* line);

  struct history* history_ = nullptr;
  struct editline* edit_ = nullptr;
  const char* prompt_ = "";
  std::string file_;  // of the history; empty for none
  std::string keys_;  // bytes of the character that is being read
  bool keeps_history_ = true;
  std::optional<std::string> edited_;  // several lines that the editor gave
};

}  // namespace puna::cli
