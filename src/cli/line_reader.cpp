#include "cli/line_reader.h"

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/utf8.h"
#include "cli/terminal.h"
#include "store/store.h"

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
  return usable ? path : std::string();
}

}  // namespace

LineReader::LineReader() : history_(history_init()), file_(history_file()) {
  // Models read UTF-8, whatever the terminal's language is set to.
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  edit_ = el_init("puna", stdin, stdout, stderr);
  HistEvent event;
  ::history(history_, &event, H_SETSIZE, kHistoryLines);
  ::history(history_, &event, H_SETUNIQUE, 1);
  el_set(edit_, EL_CLIENTDATA, this);
  el_set(edit_, EL_PROMPT, prompt);
  el_set(edit_, EL_EDITOR, "emacs");
  el_set(edit_, EL_SIGNAL, 0);
  el_set(edit_, EL_GETCFN, read_key);
  el_set(edit_, EL_HIST, ::history, history_);
  el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  if (!file_.empty()) ::history(history_, &event, H_LOAD, file_.c_str());
}

LineReader::~LineReader() {
  el_end(edit_);
  history_end(history_);
}

std::optional<std::string> LineReader::line(const char* shown) {
  prompt_ = shown;
  int n = 0;
  const char* text = el_gets(edit_, &n);
  if (!text || n <= 0) return std::nullopt;
  // Saved at once, so that a closed terminal loses nothing.
  HistEvent event;
  if (n > 1) ::history(history_, &event, H_ENTER, text);
  if (n > 1 && !file_.empty()) ::history(history_, &event, H_SAVE, file_.c_str());
  std::string out(text, static_cast<size_t>(n));
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
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
