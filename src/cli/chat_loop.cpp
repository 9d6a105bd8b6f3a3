#include "cli/chat_loop.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/reply_printer.h"
#include "cli/terminal.h"

namespace puna::cli {
namespace {

using base::Result;

constexpr const char* kQuotes = "\"\"\"";

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
  print_out(
      "/clear         forget the conversation\n"
      "/drop          forget its oldest turns, until half of the context is free\n"
      "/system [TEXT] set or remove the system message; forgets the conversation\n"
      "/set think [low|medium|high], /set nothink\n"
      "               let the model think before it answers, or not\n"
      "/bye           end (or Ctrl-D)\n"
      "\"\"\"            begin and end a message of several lines\n"
      "Ctrl-C         stop the answer, or drop the line\n");
}

constexpr const char* kWayOn =
    "/drop goes on without the oldest turns, /clear forgets the conversation";

struct Turn {
  chat::Message asked, answered;
};

class Chat {
 public:
  Chat(service::HostThread& host, const ChatSettings& settings)
      : host_(host),
        model_(host.model()),
        settings_(settings),
        request_(settings.request),
        system_(settings.system) {}

  // A line that begins with "/". False ends the chat.
  bool command(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (name == "/bye" || name == "/exit") return false;
    if (name == "/clear") {
      clear();
    } else if (name == "/drop") {
      drop();
    } else if (name == "/system" && !settings_.raw) {
      system_ = rest;
      clear();
    } else if (name == "/set") {
      set(rest);
    } else if (name == "/?" || name == "/help") {
      print_help();
    } else {
      print_out("Unknown command {}; /? lists them.\n", base::printable(name));
    }
    return true;
  }

  // An answer that fails leaves the conversation as it was.
  void say(const std::string& message) {
    unasked_.reset();
    take(message);
    Result<service::Prepared> prepared = service::prepare(model_, request_);
    if (!prepared) {
      const auto tokens = service::prompt_tokens(model_, request_);
      if (tokens && tokens->size() >= model_.context()) return refuse(message, tokens->size());
      return print_error(prepared.error().text());
    }
    ReplyPrinter printer(settings_.hides_thinking);
    Result<service::Reply> reply = service::run(
        host_, *std::move(prepared), [&](const service::Event& event) { printer.show(event); });
    printer.end_thinking();
    ++request_.sampling.seed;  // the same question may get another answer
    print_out("\n");
    if (!reply) return print_error(reply.error().text());
    const bool cancelled = reply->stats.stop == engine::StopReason::kCancelled;
    if (!cancelled || !reply->tokens.empty())
      turns_.push_back({{"user", message, {}}, service::assistant_message(model_, *reply)});
    if (settings_.on_stats) settings_.on_stats(reply->stats);
    if (reply->stats.stop == engine::StopReason::kContext) {
      print_err("The context of {} tokens is full, so the answer ends here; {}.\n",
                model_.context(), kWayOn);
    }
  }

  // Whether the model's template has this switch; a switch that it lacks would fail every message.
  Result<void> try_think(service::Think think) {
    service::Request request = request_;
    request.messages = {{"user", "Hello", {}}};
    request.think = think;
    PUNA_TRY(service::prompt_tokens(model_, request));
    return {};
  }

 private:
  // Makes the request that goes on with `message`.
  void take(const std::string& message) {
    if (settings_.raw) {
      request_.prompt.clear();
      for (const Turn& turn : turns_) request_.prompt += turn.asked.content + turn.answered.content;
      request_.prompt += message;
      return;
    }
    request_.messages.clear();
    if (!system_.empty()) request_.messages.push_back({"system", system_, {}});
    for (const Turn& turn : turns_) {
      request_.messages.push_back(turn.asked);
      request_.messages.push_back(turn.answered);
    }
    request_.messages.push_back({"user", message, {}});
  }

  // Says that the context has no room for the message, and keeps it for /drop.
  void refuse(const std::string& message, size_t n_tokens) {
    const uint32_t context = model_.context();
    if (turns_.empty()) {
      return print_error(fmt::format(
          "The message takes {} tokens, but the context holds {} and needs room for an answer.",
          n_tokens, context));
    }
    unasked_ = message;
    print_error(
        fmt::format("With this message the conversation takes {} tokens, but the context "
                    "holds {} and needs room for an answer; {}.",
                    n_tokens, context, kWayOn));
  }

  // Forgets the oldest turns, and asks what had no room.
  void drop() {
    if (turns_.empty()) return print_out("There is no turn to forget.\n");
    const std::optional<std::string> message = std::exchange(unasked_, std::nullopt);
    const size_t before = turns_.size();
    bool fits = false;
    while (!turns_.empty() && !fits) {
      turns_.pop_front();
      take(message.value_or(""));
      const auto prompt = service::prompt_tokens(model_, request_);
      fits = prompt && prompt->size() <= model_.context() / 2;
    }
    print_out("{} of {} turns are forgotten.\n", before - turns_.size(), before);
    if (message) say(*message);
  }

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
      print_out("Unknown setting {}; /? lists them.\n", base::printable(what));
    } else if (const auto tried = try_think(found->second); !tried) {
      print_error(tried.error().text());
    } else {
      request_.think = found->second;
    }
  }

  void clear() {
    turns_.clear();
    unasked_.reset();
  }

  service::HostThread& host_;
  const service::LoadedModel& model_;
  const ChatSettings& settings_;
  service::Request request_;
  std::string system_;
  std::deque<Turn> turns_;
  std::optional<std::string> unasked_;  // the message that the context had no room for
};

}  // namespace

Result<int> chat_loop(service::HostThread& host, const ChatSettings& settings) {
  Chat chat(host, settings);
  if (settings.request.think != service::Think::kDefault) {
    PUNA_TRY(chat.try_think(settings.request.think));
  }
  LineReader reader;
  while (!terminated()) {
    interrupted() = false;
    const std::optional<std::string> input = read_message(reader);
    if (!input) print_out("\n");
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
