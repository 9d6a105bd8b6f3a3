#include "cli/chat_loop.h"

#include <fmt/format.h>
#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <filesystem>
#include <optional>

#include "cli/reply_printer.h"
#include "cli/terminal.h"
#include "store/store.h"

namespace puna::cli {
namespace {

constexpr int kHistoryLines = 1000;
constexpr const char* kQuotes = "\"\"\"";
const char* g_prompt = ">>> ";

char* prompt(EditLine*) { return const_cast<char*>(g_prompt); }

// One character of UTF-8 for the line editor: 1, 0 at the end of input, -1 when a signal came. What
// is no UTF-8 is dropped.
int read_key(EditLine*, wchar_t* key) {
  std::mbstate_t state = {};
  while (true) {
    if (!wait_for_input()) return -1;
    char byte = 0;
    const ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n <= 0) return static_cast<int>(n);
    const size_t length = std::mbrtowc(key, &byte, 1, &state);
    if (length <= 1) return 1;
    if (length == static_cast<size_t>(-1)) state = {};
  }
}

// Reads edited lines; the history is kept in the store's folder when there is one.
class LineReader {
 public:
  LineReader() {
    // Models read UTF-8, whatever the terminal's language is set to.
    std::setlocale(LC_CTYPE, "");
    if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
    history_ = history_init();
    edit_ = el_init("puna", stdin, stdout, stderr);
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(edit_, EL_PROMPT, prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_SIGNAL, 0);
    el_set(edit_, EL_GETCFN, read_key);
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    std::error_code ignored;  // without a folder there is a chat all the same, but no history
    if (auto root = store::default_root()) {
      std::filesystem::create_directories(*root, ignored);
      file_ = *root + "/history";
      history(history_, &event, H_LOAD, file_.c_str());
    }
  }
  ~LineReader() {
    el_end(edit_);
    history_end(history_);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Without the newline; none at the end of input.
  std::optional<std::string> line(const char* shown) {
    g_prompt = shown;
    int n = 0;
    const char* text = el_gets(edit_, &n);
    if (!text || n <= 0) return std::nullopt;
    // Saved at once, so that a closed terminal loses nothing.
    HistEvent event;
    if (n > 1) history(history_, &event, H_ENTER, text);
    if (n > 1 && !file_.empty()) history(history_, &event, H_SAVE, file_.c_str());
    std::string out(text, static_cast<size_t>(n));
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }

 private:
  History* history_ = nullptr;
  EditLine* edit_ = nullptr;
  std::string file_;
};

// A message: one line, or all lines between two """.
std::optional<std::string> read_message(LineReader& reader) {
  std::optional<std::string> first = reader.line(">>> ");
  if (!first || !first->starts_with(kQuotes)) return first;
  std::string text = first->substr(3);
  while (!text.ends_with(kQuotes)) {
    const auto next = reader.line("... ");
    if (!next) return std::nullopt;
    text += "\n" + *next;
  }
  return text.substr(0, text.size() - 3);
}

void print_help() {
  fmt::print(
      "/clear         forget the conversation\n"
      "/system [TEXT] set or remove the system message; forgets the conversation\n"
      "/set think [low|medium|high], /set nothink\n"
      "               let the model think before it answers, or not\n"
      "/bye           end (or Ctrl-D)\n"
      "\"\"\"            begin and end a message of several lines\n"
      "Ctrl-C         stop the answer, or drop the line\n");
}

class Chat {
 public:
  Chat(service::LoadedModel& model, const ChatSettings& settings)
      : model_(model), settings_(settings), request_(settings.request), system_(settings.system) {
    clear();
  }

  // A line that begins with "/". False ends the chat.
  bool command(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    if (name == "/bye" || name == "/exit") return false;
    if (name == "/clear") {
      clear();
    } else if (name == "/system" && !settings_.raw) {
      system_ = space == std::string::npos ? "" : line.substr(space + 1);
      clear();
    } else if (name == "/set") {
      set(space == std::string::npos ? "" : line.substr(space + 1));
    } else if (name == "/?" || name == "/help") {
      print_help();
    } else {
      fmt::print("Unknown command {}; /? lists them.\n", name);
    }
    return true;
  }

  // An answer that fails leaves the conversation as it was.
  void say(const std::string& message) {
    if (settings_.raw) {
      request_.prompt = text_ + message;
    } else {
      request_.messages = messages_;
      request_.messages.push_back({"user", message, {}});
    }
    ReplyPrinter printer(settings_.hides_thinking);
    const auto reply =
        service::run(model_, request_, [&](const service::Event& event) { printer.show(event); });
    printer.end_thinking();
    ++request_.sampling.seed;  // the same question may get another answer
    fmt::print("\n");
    if (!reply) {
      print_error(reply.error().text());
      return;
    }
    if (settings_.raw) {
      text_ = request_.prompt + reply->text;
    } else {
      messages_ = std::move(request_.messages);
      messages_.push_back(service::assistant_message(model_, *reply));
    }
    if (settings_.on_stats) settings_.on_stats(reply->stats);
  }

 private:
  // What /set knows: thinking, as Ollama's chat sets it.
  void set(const std::string& what) {
    using service::Think;
    static constexpr std::pair<const char*, Think> kKnown[] = {{"think", Think::kOn},
                                                               {"nothink", Think::kOff},
                                                               {"think low", Think::kLow},
                                                               {"think medium", Think::kMedium},
                                                               {"think high", Think::kHigh}};
    const auto found = std::ranges::find_if(
        kKnown, [&](const auto& each) { return !settings_.raw && what == each.first; });
    if (found == std::end(kKnown)) {
      fmt::print("Unknown setting {}; /? lists them.\n", what);
    } else {
      request_.think = found->second;
    }
  }

  void clear() {
    text_.clear();
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_, {}});
  }

  service::LoadedModel& model_;
  const ChatSettings& settings_;
  service::Request request_;
  std::string system_;
  std::vector<chat::Message> messages_;
  std::string text_;  // of a raw conversation
};

}  // namespace

int chat_loop(service::LoadedModel& model, const ChatSettings& settings) {
  LineReader reader;
  Chat chat(model, settings);
  while (!terminated()) {
    interrupted() = false;
    const std::optional<std::string> input = read_message(reader);
    if (!input) fmt::print("\n");
    if (!input && !interrupted()) return 0;
    if (!input || input->empty()) continue;
    if (!input->starts_with("/")) {
      chat.say(*input);
    } else if (!chat.command(*input)) {
      return 0;
    }
  }
  return kInterruptedExit;
}

}  // namespace puna::cli
