// puna run: one answer to a prompt, or a chat on the terminal, by a running server or in this
// process. Read next: pick.h, chat/loop.h.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/log.h"
#include "cli/chat/figures.h"
#include "cli/chat/loop.h"
#include "cli/chat/remote_model.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/reply_printer.h"
#include "cli/run/pick.h"
#include "cli/word_wrap.h"

namespace puna::cli {
namespace {

using base::Json;
using base::Result;

// Whether something is piped in, which stands before the prompt. Sockets are what other programs
// leave there for nobody.
bool input_is_piped() {
  struct stat status = {};
  return fstat(STDIN_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode));
}

// Who waits for a pipe that nobody means to write to is told so.
void say_what_is_awaited() {
  constexpr int kPatienceMs = 3000;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, kPatienceMs) == 0)
    print_err("Standard input is read to its end; < /dev/null leaves it out.\n");
}

Result<std::string> read_prompt(const RunFlags& flags) {
  if (!flags.prompt || *flags.prompt == "-") return text_or_stdin("-");
  if (!input_is_piped()) return *flags.prompt;
  say_what_is_awaited();
  PUNA_TRY(std::string piped, text_or_stdin("-"));
  if (piped.empty()) return *flags.prompt;
  if (!piped.ends_with('\n')) piped += '\n';
  return piped + "\n" + *flags.prompt;
}

// A number of seconds is sent as one.
Json keep_alive_json(const std::string& text) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return error == std::errc() && end == text.data() + text.size() ? Json(seconds) : Json(text);
}

// Whether a model has the senses for what stands before its first message. kUnsupported.
Result<void> check_senses(const ChatModel& model, const MediaFiles& media) {
  for (const auto& file : media) {
    const bool picture = file->sense == models::Sense::kPictures;
    if (picture ? model.sees() : model.hears()) continue;
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The model {} of the server at {} {}, so it cannot take {}.", model.name(),
                    model.where(), picture ? "sees no pictures" : "hears no sounds", file->name));
  }
  return {};
}

// Model and figures of both kinds.
struct Opened {
  std::unique_ptr<ChatModel> model;
  OwnModel* own = nullptr;  // the same, where it is in this process
  double load_ms = 0;
};

Result<Opened> open(const RunFlags& flags, const std::optional<service::AnswerForm>& form,
                    const MediaFiles& media, bool chat) {
  PUNA_TRY(std::optional<Client> server, pick_server(flags));
  Opened out;
  if (server) {
    if (flags.model.verbose) print_err("Asked is the server at {}.\n", server->server().text());
    RemoteModel::Options options{.options = options_of(flags),
                                 .keep_alive = keep_alive_json(flags.keep_alive)};
    PUNA_TRY(out.model,
             RemoteModel::open(*std::move(server), flags.model.model, std::move(options)));
    PUNA_TRY(check_senses(*out.model, media));
    return out;
  }
  if (!flags.keep_alive.empty())
    print_err("--keepalive has no effect: the model is in this process, and ends with it.\n");
  PUNA_TRY(std::unique_ptr<OwnModel> own, open_own(flags, form, media, chat));
  if (flags.model.verbose)
    print_err("{} is in this process, on {}.\n", base::printable(own->name()), own->where());
  out.own = own.get();
  out.load_ms = own->load_ms();
  out.model = std::move(own);
  return out;
}

Result<int> answer_once(const RunFlags& flags, const ChatSettings& settings, Opened& opened,
                        const MediaFiles& media) {
  Asked asked;
  std::vector<int32_t> tokens;
  if (flags.tokens) {
    PUNA_TRY(tokens, parse_ids("--tokens", *flags.tokens));
  } else {
    PUNA_TRY(std::string prompt, read_prompt(flags));
    if (flags.raw || !opened.model->has_template()) {
      asked.prompt = std::move(prompt);
      if (flags.media.any()) {
        PUNA_TRY(service::UnmarkedText text, place_media(asked.prompt, media.size()));
        asked.prompt = std::move(text.text);
        if (!opened.own && std::ranges::any_of(text.places, [](size_t at) { return at > 0; })) {
          return base::fail(base::ErrorCode::kUnsupported,
                            "A server reads pictures and sounds before a text; --local has them "
                            "where <__media__> stands.");
        }
        for (size_t i = 0; i < media.size(); ++i)
          asked.media.push_back(
              {.message = 0, .at = text.places[i], .media = {}, .file = media[i]});
      }
    } else {
      if (!flags.system.empty()) asked.messages.push_back({"system", flags.system, {}});
      for (const auto& one : media)
        asked.media.push_back(
            {.message = asked.messages.size(), .at = 0, .media = {}, .file = one});
      asked.messages.push_back({"user", std::move(prompt), {}});
    }
  }
  ReplyPrinter printer({.hides_thinking = flags.hides_thinking, .wraps = !flags.no_word_wrap});
  const auto show = [&](std::string_view text, bool thinking) {
    if (!flags.output_tokens) printer.show(text, thinking);
    // Nobody reads the rest; what became of the results is said at the end.
    if (std::ferror(stdout) != 0) interrupted() = true;
  };
  auto answered = flags.tokens ? opened.own->answer(std::move(tokens), show)
                               : opened.model->answer(asked, settings, show);
  printer.end();
  PUNA_TRY(const ChatAnswer answer, std::move(answered));
  if (flags.output_tokens) print_out("{}", fmt::join(answer.tokens, " "));
  print_out("\n");
  if (flags.model.verbose) print_figures(answer.figures);
  if (flags.stats) print_stats(*opened.model, answer.figures, opened.load_ms);
  return answer.figures.stop == engine::StopReason::kCancelled ? kInterruptedExit : 0;
}

Result<int> run_command(const CLI::App& app, RunFlags flags) {
  const bool chat = !flags.prompt && !flags.tokens && stdin_is_terminal() && stdout_is_terminal();
  PUNA_TRY(check_media(app, flags.media, /*more_may_come=*/chat));
  PUNA_TRY(check(flags, chat));
  ChatSettings settings;
  settings.think = think_of(flags);
  PUNA_TRY(settings.form, read_form(flags.form));
  use_utf8();
  catch_interrupts();
  PUNA_TRY(MediaFiles media, read_media(flags.media));
  PUNA_TRY(Opened opened, open(flags, settings.form, media, chat));
  if (!chat) return answer_once(flags, settings, opened, media);
  ChatModel& model = *opened.model;
  const uint32_t context = model.context();
  const std::string banner =
      fmt::format("{} on {}{}. Ctrl-C stops an answer, Ctrl-D or /bye ends, /? helps.\n",
                  base::printable(model.name()), base::printable(model.where()),
                  context > 0 ? fmt::format(", context {} tokens", context) : "");
  write_raw(stderr, wrapped(stderr, banner));
  ChatOptions options;
  options.settings = std::move(settings);
  options.system = flags.system;
  options.media = std::move(media);
  options.raw = flags.raw || !model.has_template();
  options.hides_thinking = flags.hides_thinking;
  options.wraps = !flags.no_word_wrap;
  options.verbose = flags.model.verbose;
  if (flags.stats) {
    options.on_figures = [&](const Figures& figures) {
      print_stats(model, figures, opened.load_ms);
    };
  }
  return chat_loop(model, std::move(options));
}

}  // namespace

Action add_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  add_run_flags(app, *flags);
  return [flags, &app]() -> Result<int> {
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() > 0) flags->given.push_back(option->get_name());
    }
    return run_command(app, *flags);
  };
}

}  // namespace puna::cli
