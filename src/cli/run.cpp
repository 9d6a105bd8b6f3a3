// puna run: one answer to a prompt, or a chat on the terminal.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <utility>

#include "cli/chat_loop.h"
#include "cli/command.h"
#include "cli/form_flags.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/reply_printer.h"
#include "cli/template_file.h"
#include "cli/usage.h"
#include "service/host_thread.h"

namespace puna::cli {
namespace {

// Whether a flag was given, and how its value becomes that of a request.
struct Given {
  const CLI::Option* option;
  std::function<void(kernels::SamplingParams& to)> set;
};

struct Flags {
  ModelFlags model;
  std::optional<std::string> prompt;
  std::string system;
  std::optional<std::string> tokens;
  kernels::SamplingParams sampling;  // before what is not given is as the model has it
  std::vector<Given> given;
  std::vector<std::string> logit_bias;  // ID=V
  std::optional<uint64_t> seed;
  std::optional<int64_t> max_tokens;
  std::vector<std::string> stop;
  FormFlags form;
  std::optional<service::AnswerForm> answer_form;  // that these flags say
  bool raw = false;
  std::optional<std::string> template_path;  // a file whose template stands in place of the model's
  bool stats = false;
  bool output_tokens = false;
  bool ignore_end = false;
  std::string think;  // "" leaves it to the template
  bool hides_thinking = false;
};

Range<float> range(const kernels::Bounds& bounds) { return {bounds.lowest, bounds.highest}; }

constexpr int64_t kNoEnd = -1;  // of -n, as in llama.cpp and Ollama

// "true" and "false" as Ollama writes them, or how much.
constexpr std::pair<const char*, service::Think> kThink[] = {{"true", service::Think::kOn},
                                                             {"false", service::Think::kOff},
                                                             {"low", service::Think::kLow},
                                                             {"medium", service::Think::kMedium},
                                                             {"high", service::Think::kHigh}};

// What flags do not say is as the model has it.
service::Request make_request(const Flags& flags, const service::Defaults& defaults) {
  service::Request request = defaults.request;
  for (const Given& flag : flags.given) {
    if (flag.option->count() > 0) flag.set(request.sampling);
  }
  request.sampling.logit_bias = flags.sampling.logit_bias;
  const std::optional<uint64_t> seed = flags.seed ? flags.seed : defaults.seed;
  request.sampling.seed = seed ? *seed : std::random_device{}();
  if (flags.max_tokens) request.max_tokens.reset();
  if (flags.max_tokens.value_or(kNoEnd) != kNoEnd)
    request.max_tokens = static_cast<uint32_t>(*flags.max_tokens);
  if (!flags.stop.empty()) request.stop = flags.stop;
  request.form = flags.answer_form;
  request.ignore_end = flags.ignore_end;
  for (const auto& [name, think] : kThink) {
    if (flags.think == name) request.think = think;
  }
  request.control = interrupt_control();
  return request;
}

const char* name(engine::StopReason reason) {
  switch (reason) {
    case engine::StopReason::kEnd:
      return "end";
    case engine::StopReason::kLength:
      return "length";
    case engine::StopReason::kContext:
      return "context";
    case engine::StopReason::kCancelled:
      return "cancelled";
    case engine::StopReason::kStopped:
      return "stop";
  }
  return "unknown";
}

void print_stats(const service::LoadedModel& model, const engine::GenerateStats& s,
                 double load_ms) {
  const double per_s =
      s.decode_ms > 0 && s.n_generated > 1 ? (s.n_generated - 1) * 1000.0 / s.decode_ms : 0;
  print_err(
      "device=\"{}\" load_ms={:.1f} prompt_tokens={} cached_tokens={} prompt_ms={:.1f} "
      "prompt_tokens_per_s={:.1f} "
      "generated_tokens={} decode_ms={:.1f} decode_tokens_per_s={:.1f} stop={}\n",
      model.device_name, load_ms, s.n_prompt, s.n_cached, s.prompt_ms,
      s.prompt_ms > 0 ? s.n_prompt * 1000.0 / s.prompt_ms : 0, s.n_generated, s.decode_ms, per_s,
      name(s.stop));
}

base::Result<int> answer(const Flags& flags, service::HostThread& host, double load_ms) {
  const service::LoadedModel& model = host.model();
  service::Request request = make_request(flags, model.defaults);
  if (flags.tokens) {
    PUNA_TRY(request.tokens, parse_ids("--tokens", *flags.tokens));
  } else {
    PUNA_TRY(const std::string prompt, text_or_stdin(flags.prompt.value_or("-")));
    if (flags.raw || !model.chat_template) {
      request.prompt = prompt;
    } else {
      if (!flags.system.empty()) request.messages.push_back({"system", flags.system, {}});
      request.messages.push_back({"user", prompt, {}});
    }
  }
  ReplyPrinter printer(flags.hides_thinking);
  const auto show = [&](const service::Event& event) {
    if (!flags.output_tokens) printer.show(event);
    // Nobody reads the rest; what became of the results is said at the end.
    if (std::ferror(stdout) != 0) interrupted() = true;
  };
  auto answered = service::run(host, request, show);
  printer.end_thinking();
  PUNA_TRY(const service::Reply reply, std::move(answered));
  if (flags.output_tokens) print_out("{}", fmt::join(reply.tokens, " "));
  print_out("\n");
  if (flags.stats) print_stats(model, reply.stats, load_ms);
  return reply.stats.stop == engine::StopReason::kCancelled ? kInterruptedExit : 0;
}

// Flags that would have no effect are refused.
base::Result<void> check(const Flags& flags, bool chat) {
  const auto refuse = [](const char* why) { return base::fail(base::ErrorCode::kUsage, why); };
  if (flags.tokens && flags.prompt)
    return refuse("PROMPT and --tokens are both given; the prompt is one of them.");
  if (!flags.system.empty() && (flags.raw || flags.tokens))
    return refuse("--system needs the chat template, which --raw and --tokens leave out.");
  if (flags.template_path && (flags.raw || flags.tokens))
    return refuse("--template is for chats; --raw and --tokens go without a chat template.");
  if (!flags.think.empty() && (flags.raw || flags.tokens))
    return refuse("--think needs the chat template, which --raw and --tokens leave out.");
  if (!flags.think.empty() &&
      std::ranges::none_of(kThink, [&](const auto& each) { return flags.think == each.first; })) {
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("--think={} is not true, false, low, medium or high.", flags.think));
  }
  if (flags.output_tokens && chat)
    return refuse("--output-tokens is for one answer; give a PROMPT or --tokens.");
  return as_usage(kernels::check(flags.sampling));
}

// A model whose template cannot be read is not sent raw text in its place: it was not trained on
// that.
base::Result<void> check_template(const service::LoadedModel& model) {
  if (model.chat_template || !model.template_error) return {};
  base::Error error = *model.template_error;
  error.context.emplace_back(
      "While preparing a chat; --raw goes without the chat template, --template FILE takes "
      "another");
  return std::unexpected(std::move(error));
}

// "17=-2.5" or "17=-inf".
base::Result<std::pair<int32_t, float>> parse_bias(const std::string& text) {
  std::pair<int32_t, float> out;
  const char* end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, out.first);
  if (id.ec == std::errc() && id.ptr != end && *id.ptr == '=') {
    const auto value = std::from_chars(id.ptr + 1, end, out.second);
    if (value.ec == std::errc() && value.ptr == end) return out;
  }
  return base::fail(
      base::ErrorCode::kUsage,
      fmt::format("--logit-bias {} is not ID=V, a token id and a number or -inf.", text));
}

base::Result<int> run(Flags flags) {
  for (const std::string& text : flags.logit_bias) {
    PUNA_TRY(flags.sampling.logit_bias.emplace_back(), parse_bias(text));
  }
  const bool chat = !flags.prompt && !flags.tokens && stdin_is_terminal() && stdout_is_terminal();
  PUNA_TRY(check(flags, chat));
  PUNA_TRY(flags.answer_form, read_form(flags.form));
  std::optional<chat::Template> own_template;
  if (flags.template_path) {
    PUNA_TRY(own_template, read_template(*flags.template_path));
  }
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(service::OpenOptions options, open_options(flags.model, {}, bar));
  const base::Timer load;
  PUNA_TRY(service::LoadedModel model, service::open(options));
  const double load_ms = load.ms();
  bar.clear();
  if (own_template) service::use_template(model, *std::move(own_template));
  if (!flags.raw && !flags.tokens) PUNA_TRY(check_template(model));
  if (flags.answer_form) PUNA_TRY(check_form(model, *flags.answer_form));
  if (!flags.system.empty() && !model.chat_template) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The model {} has no chat template; it takes no --system.", model.name));
  }
  if (!flags.think.empty() && !model.chat_template) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The model {} has no chat template; it takes no --think.", model.name));
  }
  service::HostThread host(std::move(model));
  if (!chat) return answer(flags, host, load_ms);
  const service::LoadedModel& loaded = host.model();
  print_err("{} on {}, context {} tokens. Ctrl-C stops an answer, Ctrl-D or /bye ends, /? helps.\n",
            base::printable(loaded.name), loaded.device_name, loaded.context());
  ChatSettings settings;
  settings.request = make_request(flags, loaded.defaults);
  settings.system = flags.system;
  settings.raw = flags.raw || !loaded.chat_template;
  settings.hides_thinking = flags.hides_thinking;
  settings.on_stats = [&](const engine::GenerateStats& s) {
    if (flags.stats) print_stats(loaded, s, load_ms);
  };
  return chat_loop(host, settings);
}

}  // namespace

Action add_run(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_argument(app, flags->model);
  app.add_option("PROMPT", flags->prompt,
                 "The prompt; none reads standard input, or chats on a terminal");
  add_number(app, "-n,--max-tokens", flags->max_tokens, {kNoEnd, kCounts.highest},
             "At most this many tokens; 0 reads the prompt and writes none; -1, the default: until "
             "the end or the context is full");
  // `flags` outlives what it holds.
  const auto add_sampling = [&app, flags = flags.get()](const char* name, auto member, auto bounds,
                                                        const char* about) {
    add_number(app, name, flags->sampling.*member, bounds, about);
    flags->given.push_back({app.get_option(name), [flags, member](kernels::SamplingParams& to) {
                              to.*member = flags->sampling.*member;
                            }});
  };
  using kernels::SamplingParams;
  add_sampling("--temp", &SamplingParams::temperature, range(kernels::kTemperature),
               "Temperature; 0 always takes the likeliest token");
  add_sampling("--top-k", &SamplingParams::top_k, kCounts, "Keep the k likeliest tokens; 0 = all");
  add_sampling("--top-p", &SamplingParams::top_p, range(kernels::kProbability),
               "Keep the likeliest tokens up to this probability; 1 = all");
  add_sampling("--min-p", &SamplingParams::min_p, range(kernels::kProbability),
               "Drop tokens below this share of the likeliest; 0 = none");
  add_sampling("--repeat-penalty", &SamplingParams::repeat_penalty, range(kernels::kRepeatPenalty),
               "Penalty on recent tokens; 1 = none");
  add_sampling("--presence-penalty", &SamplingParams::presence_penalty, range(kernels::kPenalty),
               "Lower the logits of recent tokens by this; 0 = none");
  add_sampling("--frequency-penalty", &SamplingParams::frequency_penalty, range(kernels::kPenalty),
               "Lower the logits of recent tokens by this each time they occur; 0 = none");
  add_sampling("--repeat-last", &SamplingParams::repeat_last, kCounts,
               "How many tokens the three penalties look back on; 0 = none");
  not_empty(app.add_option("--logit-bias", flags->logit_bias,
                           "ID=V adds V to the logit of token ID, ID=-inf forbids it; may be given "
                           "several times")
                ->allow_extra_args(false));
  add_number(app, "--seed", flags->seed, {0, std::numeric_limits<uint64_t>::max()},
             "Seed of the draw; default: random");
  app.add_option("--system", flags->system, "System message");
  app.add_flag("--think{true}", flags->think,
               "Think before answering, where the model's template has a switch for it: --think, "
               "--think=false, --think=low, medium or high");
  app.add_flag("--hidethinking", flags->hides_thinking, "Do not show what the model thinks");
  not_empty(app.add_option("--stop", flags->stop,
                           "End the text before this string; may be given several times")
                ->allow_extra_args(false));
  add_form_flags(app, flags->form);
  not_empty(app.add_option("--tokens", flags->tokens,
                           "Prompt as token ids, separated by commas; nothing is added"));
  app.add_flag("--raw", flags->raw, "Complete the prompt as plain text, without the chat template");
  not_empty(app.add_option("--template", flags->template_path,
                           "A file with a chat template (Jinja) to use in place of the model's"));
  app.add_flag("--ignore-eos", flags->ignore_end, "Go on after the end token");
  app.add_flag("--output-tokens", flags->output_tokens,
               "Print token ids instead of text, on one line");
  app.add_flag("--stats", flags->stats, "Print timings as one line of key=value on stderr");
  add_engine_flags(app, flags->model);
  return [flags] { return run(*flags); };
}

}  // namespace puna::cli
