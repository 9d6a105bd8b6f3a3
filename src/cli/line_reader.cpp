#include "cli/line_reader.h"

#include <fcntl.h>
#include <histedit.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "cli/chat/editor.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/word_wrap.h"
#include "store/store.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define PUNA_LEAKS 1
#endif
#endif

namespace puna::cli {
namespace {

constexpr int kHistoryLines = 1000;
constexpr char32_t kReplacement = 0xFFFD;  // shown for a byte that is no UTF-8

// Where lines are remembered; empty for nowhere. Something else than a file there, as a link to
// /dev/null, means that no lines are to be kept.
std::string history_file() {
  std::error_code ignored;  // without a folder there is a chat all the same
  const auto root = store::default_root();
  if (!root) return {};
  std::filesystem::create_directories(*root, ignored);
  std::string path = *root + "/history";
  const auto status = std::filesystem::status(path, ignored);
  const bool usable = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  if (!usable) return {};
  // Nobody else may read what was asked, from the first line on.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return {};
  (void)fchmod(file, S_IRUSR | S_IWUSR);
  close(file);
  return path;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value && std::string_view(value) != "0" && std::string_view(value) != "false";
}

}  // namespace

LineReader::LineReader()
    : history_(history_init()),
      keeps_history_(!is_set("PUNA_NOHISTORY") && !is_set("OLLAMA_NOHISTORY")) {
  if (keeps_history_) file_ = history_file();
  use_utf8();
  edit_ = el_init("puna", stdin, stdout, stderr);
  HistEvent event;
  ::history(history_, &event, H_SETSIZE, kHistoryLines);
  ::history(history_, &event, H_SETUNIQUE, 1);
  el_set(edit_, EL_CLIENTDATA, this);
  el_set(edit_, EL_PROMPT, prompt);
  el_set(edit_, EL_EDITOR, "emacs");
  el_set(edit_, EL_SIGNAL, 0);
  // Ctrl-C must not take along what was written and the terminal has not shown yet, neither while a
  // line is read (-d) nor between lines (-x), where it ends an answer.
  el_set(edit_, EL_SETTY, "-d", "+noflsh", nullptr);
  el_set(edit_, EL_SETTY, "-x", "+noflsh", nullptr);
  el_set(edit_, EL_GETCFN, read_key);
  el_set(edit_, EL_HIST, ::history, history_);
  el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  {
#ifdef PUNA_LEAKS
    // libedit copies both texts and never frees them.
    const __lsan::ScopedDisabler not_ours;
#endif
    el_set(edit_, EL_ADDFN, "puna-editor", "Write the line in an editor", open_editor);
  }
  el_set(edit_, EL_BIND, "^G", "puna-editor", nullptr);
  if (!file_.empty()) ::history(history_, &event, H_LOAD, file_.c_str());
}

LineReader::~LineReader() {
  el_end(edit_);
  history_end(history_);
}

std::optional<std::string> LineReader::line(const char* shown) {
  prompt_ = shown;
  edited_.reset();
  int n = 0;
  const char* text = el_gets(edit_, &n);
  if (edited_) {
    write_text(stdout, *edited_ + "\n");
    return std::exchange(edited_, std::nullopt);
  }
  if (!text || n <= 0) return std::nullopt;
  if (n > 1) remember(text);
  std::string out(text, static_cast<size_t>(n));
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// Saved at once, so that a closed terminal loses nothing.
void LineReader::remember(const char* line) {
  if (!keeps_history_) return;
  HistEvent event;
  ::history(history_, &event, H_ENTER, line);
  if (file_.empty()) file_ = history_file();
  if (!file_.empty()) ::history(history_, &event, H_SAVE, file_.c_str());
}

unsigned char LineReader::open_editor(editline* edit, int /*key*/) {
  LineReader* self = nullptr;
  el_get(edit, EL_CLIENTDATA, &self);
  const LineInfo* line = el_line(edit);
  const std::string before(line->buffer, line->lastchar);
  el_set(edit, EL_PREP_TERM, 0);  // the editor finds the terminal as programs do
  const base::Result<std::string> text = edit_text(before);
  el_set(edit, EL_PREP_TERM, 1);
  if (!text) {
    print_err("\n");
    print_error(text.error().text());
    return CC_REDISPLAY;
  }
  if (text->find('\n') != std::string::npos) {
    self->edited_ = *text;
    return CC_NEWLINE;
  }
  const LineInfoW* characters = el_wline(edit);
  const auto n = static_cast<int>(characters->lastchar - characters->buffer);
  el_cursor(edit, static_cast<int>(characters->lastchar - characters->cursor));
  el_deletestr(edit, n);
  if (!text->empty()) el_insertstr(edit, text->c_str());
  return CC_REDISPLAY;
}

// What is no UTF-8, as a letter of a terminal in Latin-1 or half a character, must not take the key
// behind it along.
int LineReader::read_key(editline* edit, wchar_t* key) {
  LineReader* self = nullptr;
  el_get(edit, EL_CLIENTDATA, &self);
  std::string& keys = self->keys_;
  while (base::utf8_complete_prefix(keys) == 0) {
    if (!wait_for_input()) {
      keys.clear();
      return -1;
    }
    char byte = 0;
    const ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n <= 0) return static_cast<int>(n);
    keys += byte;
  }
  const base::Utf8Unit unit = base::utf8_next(keys, 0);
  keys.erase(0, unit.bytes);
  const bool is_text = unit.code_point != base::kInvalidCodePoint;
  *key = static_cast<wchar_t>(is_text ? unit.code_point : kReplacement);
  return 1;
}

char* LineReader::prompt(editline* edit) {
  LineReader* self = nullptr;
  el_get(edit, EL_CLIENTDATA, &self);
  return const_cast<char*>(self->prompt_);
}

}  // namespace puna::cli
