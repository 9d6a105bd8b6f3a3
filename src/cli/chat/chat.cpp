#include "cli/chat/chat.h"

#include <fmt/format.h>

#include <algorithm>
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
    out.push_back({"user", turn.asked.text, {}});
    out.push_back(turn.answered);
  }
  return out;
}

bool Chat::has_media() const {
  return std::ranges::any_of(turns_, [](const Turn& turn) { return !turn.asked.media.empty(); });
}

Asked Chat::asked_with(const DraggedText& message) const {
  Asked out;
  const auto add = [&](const DraggedText& text) {
    const size_t before = options.raw ? out.prompt.size() : 0;
    for (const DraggedMedia& each : text.media) {
      out.media.push_back(
          {.message = out.messages.size(), .at = before + each.at, .media = {}, .file = each.file});
    }
    if (options.raw) {
      out.prompt += text.text;
    } else {
      out.messages.push_back({"user", text.text, {}});
    }
  };
  if (!options.raw && !options.system.empty())
    out.messages.push_back({"system", options.system, {}});
  for (const Turn& turn : turns_) {
    add(turn.asked);
    if (options.raw) {
      out.prompt += turn.answered.content;
    } else {
      out.messages.push_back(turn.answered);
    }
  }
  add(message);
  return out;
}

uint64_t Chat::n_tokens() const {
  uint64_t out = 0;
  for (const Turn& turn : turns_) out += turn.n_tokens;
  return out;
}

void Chat::say(const std::string& message) {
  auto read = take_dragged(message, {.sees = model_.sees(), .hears = model_.hears()});
  if (!read) return print_error(read.error().text());
  for (const std::string& note : read->notes) print_err("{}\n", base::printable(note));
  DraggedText& text = read->text;
  for (size_t i = 0; i < options.media.size(); ++i)
    text.media.insert(text.media.begin() + static_cast<ptrdiff_t>(i), {.file = options.media[i]});
  ask(std::move(text));
}

void Chat::ask(DraggedText message) {
  unasked_.reset();
  ReplyPrinter printer({.hides_thinking = options.hides_thinking, .wraps = options.wraps});
  base::Result<ChatAnswer> answer =
      model_.answer(asked_with(message), options.settings,
                    [&](std::string_view text, bool thinking) { printer.show(text, thinking); });
  printer.end();
  if (!answer) return refuse(std::move(message), answer.error());
  print_out("\n");
  const Figures& figures = answer->figures;
  const bool cancelled = figures.stop == engine::StopReason::kCancelled;
  const bool empty = answer->message.content.empty() && answer->message.fields.is_null();
  if (!cancelled || !empty) {
    const uint64_t now = uint64_t{figures.n_prompt} + figures.n_cached + figures.n_generated;
    const uint64_t before = n_tokens();
    turns_.push_back({.asked = std::move(message),
                      .answered = std::move(answer->message),
                      .n_tokens = now > before ? now - before : 0});
    options.media.clear();  // they were before this message
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

void Chat::refuse(DraggedText message, const base::Error& error) {
  const bool may_be_room = error.code == base::ErrorCode::kInvalidArgument && !turns_.empty();
  if (error.excess && turns_.empty()) {
    return print_error(fmt::format(
        "The message takes {} tokens, but the context holds {} and needs room for an answer.",
        error.excess->n, error.excess->n_room));
  }
  if (error.excess) {
    unasked_ = std::move(message);
    return print_error(
        fmt::format("With this message the conversation takes {} tokens, but the context holds {} "
                    "and needs room for an answer; {}.",
                    error.excess->n, error.excess->n_room, kWayOn));
  }
  // A server says in words only why it refuses; a conversation that is too long is one reason.
  if (may_be_room) unasked_ = std::move(message);
  print_error(may_be_room ? fmt::format("{} - {}.", error.text(), kWayOn) : error.text());
}

void Chat::drop() {
  if (turns_.empty()) return print_out("There is no turn to forget.\n");
  std::optional<DraggedText> message = std::exchange(unasked_, std::nullopt);
  const size_t before = turns_.size();
  const uint64_t room = model_.context() / 2;
  // What a message takes is known once it was answered: four bytes a token is about what it is.
  const uint64_t n_message = message ? message->text.size() / 4 : 0;
  do {
    turns_.pop_front();
  } while (!turns_.empty() &&
           (room > 0 ? n_tokens() + n_message > room : turns_.size() > before / 2));
  print_out("{} of {} turns are forgotten.\n", before - turns_.size(), before);
  if (message) ask(*std::move(message));
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
