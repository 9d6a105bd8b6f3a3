#include "cli/chat_loop.h"

#include <fmt/format.h>
#include <histedit.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/terminal.h"

namespace puna::cli {
namespace {

constexpr int kHistoryLines = 1000;
constexpr const char* kQuotes = "\"\"\"";
const char* g_prompt = ">>> ";

char* prompt(EditLine*) { return const_cast<char*>(g_prompt); }

// Reads edited lines; the history is kept in the store's folder when there is one.
class LineReader {
 public:
  LineReader() : history_(history_init()), edit_(el_init("puna", stdin, stdout, stderr)) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(edit_, EL_PROMPT, prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_SIGNAL, 0);
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    if (auto root = store::default_root()) file_ = *root + "/history";
    if (!file_.empty()) history(history_, &event, H_LOAD, file_.c_str());
  }
  ~LineReader() {
    HistEvent event;
    if (!file_.empty()) history(history_, &event, H_SAVE, file_.c_str());
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
    HistEvent event;
    if (n > 1) history(history_, &event, H_ENTER, text);
    std::string out(text, static_cast<size_t>(n));
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }

 private:
  History* history_;
  EditLine* edit_;
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
      "/clear       forget the conversation\n"
      "/system TEXT set the system message\n"
      "/bye         end (or Ctrl-D)\n"
      "\"\"\"          begin and end a message of several lines\n"
      "Ctrl-C       stop the answer\n");
}

}  // namespace

base::Result<int> chat_loop(service::LoadedModel& model, const ChatSettings& settings) {
  LineReader reader;
  std::string system = settings.system;
  std::vector<chat::Message> messages;
  std::string text;  // of a raw conversation
  const auto clear = [&] {
    messages.clear();
    text.clear();
    if (!system.empty()) messages.push_back({"system", system, {}});
  };
  clear();
  while (true) {
    interrupted() = false;
    std::optional<std::string> input = read_message(reader);
    if (!input) {
      if (interrupted()) {
        fmt::print("\n");
        continue;
      }
      fmt::print("\n");
      return 0;
    }
    if (input->empty()) continue;
    if (*input == "/bye" || *input == "/exit") return 0;
    if (*input == "/?" || *input == "/help") {
      print_help();
      continue;
    }
    if (*input == "/clear" || input->starts_with("/system ")) {
      if (*input != "/clear") system = input->substr(8);
      clear();
      continue;
    }
    if (input->starts_with("/")) {
      fmt::print("Unknown command {}; /? lists them.\n", *input);
      continue;
    }
    service::Request request = settings.request;
    if (settings.raw) {
      text += *input;
      request.prompt = text;
    } else {
      messages.push_back({"user", *input, {}});
      request.messages = messages;
    }
    const auto reply = service::run(model, request, [](const service::Event& event) {
      std::fwrite(event.text.data(), 1, event.text.size(), stdout);
      std::fflush(stdout);
    });
    fmt::print("\n");
    if (!reply) {
      print_error(reply.error().text());
      if (!settings.raw) messages.pop_back();
      continue;
    }
    if (settings.raw) {
      text += reply->text;
    } else {
      messages.push_back({"assistant", reply->text, {}});
    }
    if (settings.on_stats) settings.on_stats(reply->stats);
  }
}

}  // namespace puna::cli
