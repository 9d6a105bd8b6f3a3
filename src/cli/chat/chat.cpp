#include "cli/chat/chat.h"

#include <fmt/format.h>

#include <utility>

#include "cli/chat/figures.h"
#include "cli/output.h"
#include "cli/reply_printer.h"
#include "cli/word_wrap.h"

namespace puna::cli {
namespace {

constexpr const char* kWayOn =
    "/drop goes on without the oldest turns, /clear forgets the conversation";

}  // namespace

std::vector<chat::Message> Chat::messages() const {
  std::vector<chat::Message> out;
  for (const Turn& turn : turns_) {
    out.push_back(turn.asked);
    out.push_back(turn.answered);
  }
  return out;
}

Asked Chat::asked_with(const std::string& message) const {
  Asked out;
  if (options.raw) {
    for (const Turn& turn : turns_) out.prompt += turn.asked.content + turn.answered.content;
    out.prompt += message;
    return out;
  }
  if (!options.system.empty()) out.messages.push_back({"system", options.system, {}});
  for (chat::Message& each : messages()) out.messages.push_back(std::move(each));
  out.messages.push_back({"user", message, {}});
  return out;
}

uint64_t Chat::n_tokens() const {
  uint64_t out = 0;
  for (const Turn& turn : turns_) out += turn.n_tokens;
  return out;
}

void Chat::say(const std::string& message) {
  unasked_.reset();
  ReplyPrinter printer({.hides_thinking = options.hides_thinking, .wraps = options.wraps});
  base::Result<ChatAnswer> answer =
      model_.answer(asked_with(message), options.settings,
                    [&](std::string_view text, bool thinking) { printer.show(text, thinking); });
  printer.end();
  if (!answer) return refuse(message, answer.error());
  print_out("\n");
  const Figures& figures = answer->figures;
  const bool cancelled = figures.stop == engine::StopReason::kCancelled;
  const bool empty = answer->message.content.empty() && answer->message.fields.is_null();
  if (!cancelled || !empty) {
    const uint64_t now = uint64_t{figures.n_prompt} + figures.n_cached + figures.n_generated;
    const uint64_t before = n_tokens();
    turns_.push_back({.asked = {"user", message, {}},
                      .answered = std::move(answer->message),
                      .n_tokens = now > before ? now - before : 0});
  }
  if (options.verbose) print_figures(figures);
  if (options.on_figures) options.on_figures(figures);
  if (figures.stop == engine::StopReason::kContext) {
    const uint32_t context = model_.context();
    const std::string full =
        fmt::format("The context{} is full, so the answer ends here; {}.\n",
                    context > 0 ? fmt::format(" of {} tokens", context) : "", kWayOn);
    write_raw(stderr, wrapped(stderr, full));
  }
}

void Chat::refuse(const std::string& message, const base::Error& error) {
  const bool may_be_room = error.code == base::ErrorCode::kInvalidArgument && !turns_.empty();
  if (error.excess && turns_.empty()) {
    return print_error(fmt::format(
        "The message takes {} tokens, but the context holds {} and needs room for an answer.",
        error.excess->n, error.excess->n_room));
  }
  if (error.excess) {
    unasked_ = message;
    return print_error(
        fmt::format("With this message the conversation takes {} tokens, but the context holds {} "
                    "and needs room for an answer; {}.",
                    error.excess->n, error.excess->n_room, kWayOn));
  }
  // A server says in words only why it refuses; a conversation that is too long is one reason.
  if (may_be_room) unasked_ = message;
  print_error(may_be_room ? fmt::format("{} - {}.", error.text(), kWayOn) : error.text());
}

void Chat::drop() {
  if (turns_.empty()) return print_out("There is no turn to forget.\n");
  const std::optional<std::string> message = std::exchange(unasked_, std::nullopt);
  const size_t before = turns_.size();
  const uint64_t room = model_.context() / 2;
  // What a message takes is known once it was answered: four bytes a token is about what it is.
  const uint64_t n_message = message ? message->size() / 4 : 0;
  do {
    turns_.pop_front();
  } while (!turns_.empty() &&
           (room > 0 ? n_tokens() + n_message > room : turns_.size() > before / 2));
  print_out("{} of {} turns are forgotten.\n", before - turns_.size(), before);
  if (message) say(*message);
}

void Chat::clear() {
  turns_.clear();
  unasked_.reset();
}

bool Chat::change(const ChatSettings& settings) {
  if (const auto fine = model_.check(settings); !fine) {
    print_error(fine.error().text());
    return false;
  }
  options.settings = settings;
  return true;
}

}  // namespace puna::cli
