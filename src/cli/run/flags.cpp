#include "cli/run/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <random>
#include <utility>

#include "api/sampling.h"
#include "cli/options.h"
#include "cli/seconds.h"
#include "cli/terminal.h"
#include "cli/usage.h"

namespace puna::cli {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Range<float> range(const kernels::Bounds& bounds) { return {bounds.lowest, bounds.highest}; }

constexpr int64_t kNoEnd = -1;  // of -n, as in llama.cpp and Ollama

// "true" and "false" as Ollama writes them, or how much.
constexpr std::pair<const char*, service::Think> kThink[] = {{"true", service::Think::kOn},
                                                             {"false", service::Think::kOff},
                                                             {"low", service::Think::kLow},
                                                             {"medium", service::Think::kMedium},
                                                             {"high", service::Think::kHigh}};

using kernels::SamplingParams;

template <auto kMember>
void copy(const SamplingParams& from, SamplingParams& to) {
  to.*kMember = from.*kMember;
}

// Options of sampling, and the fields of requests that they are.
struct SamplingOption {
  const char* option;
  const char* field;
  void (*set)(const SamplingParams& from, SamplingParams& to);
};
constexpr SamplingOption kSampling[] = {
    {"--temp", "temperature", copy<&SamplingParams::temperature>},
    {"--top-k", "top_k", copy<&SamplingParams::top_k>},
    {"--top-p", "top_p", copy<&SamplingParams::top_p>},
    {"--min-p", "min_p", copy<&SamplingParams::min_p>},
    {"--repeat-penalty", "repeat_penalty", copy<&SamplingParams::repeat_penalty>},
    {"--presence-penalty", "presence_penalty", copy<&SamplingParams::presence_penalty>},
    {"--frequency-penalty", "frequency_penalty", copy<&SamplingParams::frequency_penalty>},
    {"--repeat-last", "repeat_last_n", copy<&SamplingParams::repeat_last>},
};

// What only a model in this process can do: it is about devices, names files, or no request of a
// server has a word for it.
constexpr const char* kOwn[] = {
    "--device",       "--threads",         "--gpu-features", "--gpu-memory", "--cpu-variant",
    "--kv-type",      "--numerics",        "--ctx",          "--gpu-layers", "--cpu-experts",
    "--tensor-split", "--no-mmap",         "--mlock",        "--tokens",     "--output-tokens",
    "--template",     "--grammar",         "--regex",        "--ignore-eos", "--mmproj",
    "--no-mmproj",    "--image-max-tokens"};

// "17=-2.5" or "17=-inf".
Result<std::pair<int32_t, float>> parse_bias(const std::string& text) {
  std::pair<int32_t, float> out;
  const char* end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, out.first);
  if (id.ec == std::errc() && id.ptr != end && *id.ptr == '=') {
    const auto value = std::from_chars(id.ptr + 1, end, out.second);
    if (value.ec == std::errc() && value.ptr == end) return out;
  }
  return base::fail(
      ErrorCode::kUsage,
      fmt::format("--logit-bias {} is not ID=V, a token id and a number or -inf.", text));
}

bool is_given(const RunFlags& flags, std::string_view option) {
  return std::ranges::find(flags.given, option) != flags.given.end();
}

// Flags of which one says what the other says otherwise.
Result<void> check_pairs(const RunFlags& flags, bool chat) {
  const auto refuse = [](const char* why) { return base::fail(ErrorCode::kUsage, why); };
  if (flags.tokens && flags.prompt)
    return refuse("PROMPT and --tokens are both given; the prompt is one of them.");
  if (!flags.system.empty() && (flags.raw || flags.tokens))
    return refuse("--system needs the chat template, which --raw and --tokens leave out.");
  if (flags.template_path && (flags.raw || flags.tokens))
    return refuse("--template is for chats; --raw and --tokens go without a chat template.");
  if (!flags.think.empty() && (flags.raw || flags.tokens))
    return refuse("--think needs the chat template, which --raw and --tokens leave out.");
  if (flags.media.any() && flags.tokens)
    return refuse("--image and --audio stand in a text; --tokens gives none.");
  if (flags.output_tokens && chat)
    return refuse("--output-tokens is for one answer; give a PROMPT or --tokens.");
  if (!flags.host.empty() && flags.local)
    return refuse("--host asks a server, and --local asks none; one of them may be given.");
  if (const std::string own = own_option(flags); !flags.host.empty() && !own.empty()) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("--host asks a server, but {} is about a model in this process; "
                                  "one of them may be given.",
                                  own));
  }
  return {};
}

}  // namespace

Result<void> check(RunFlags& flags, bool chat) {
  for (const std::string& text : flags.logit_bias) {
    PUNA_TRY(flags.sampling.logit_bias.emplace_back(), parse_bias(text));
  }
  PUNA_TRY(check_pairs(flags, chat));
  if (!flags.keep_alive.empty()) PUNA_TRY(read_seconds("--keepalive", flags.keep_alive));
  if (!flags.think.empty() &&
      std::ranges::none_of(kThink, [&](const auto& each) { return flags.think == each.first; })) {
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("--think={} is not true, false, low, medium or high.", flags.think));
  }
  return as_usage(kernels::check(flags.sampling));
}

service::Think think_of(const RunFlags& flags) {
  for (const auto& [name, think] : kThink) {
    if (flags.think == name) return think;
  }
  return service::Think::kDefault;
}

service::Request request_of(const RunFlags& flags, const service::Defaults& defaults) {
  service::Request request = defaults.request;
  for (const SamplingOption& each : kSampling) {
    if (is_given(flags, each.option)) each.set(flags.sampling, request.sampling);
  }
  request.sampling.logit_bias = flags.sampling.logit_bias;
  const std::optional<uint64_t> seed = flags.seed ? flags.seed : defaults.seed;
  request.sampling.seed = seed ? *seed : std::random_device{}();
  if (flags.max_tokens) request.max_tokens.reset();
  if (flags.max_tokens.value_or(kNoEnd) != kNoEnd)
    request.max_tokens = static_cast<uint32_t>(*flags.max_tokens);
  if (!flags.stop.empty()) request.stop = flags.stop;
  request.ignore_end = flags.ignore_end;
  request.control = interrupt_control();
  return request;
}

Json options_of(const RunFlags& flags) {
  Json out = Json::object();
  const Json all = api::sampling_json(flags.sampling);
  for (const auto& [option, field, set] : kSampling) {
    const Json* value = all.find(field);
    if (value && is_given(flags, option)) out.set(field, *value);
  }
  if (flags.seed) out.set("seed", static_cast<int64_t>(*flags.seed & INT64_MAX));
  if (flags.max_tokens) out.set("num_predict", *flags.max_tokens);
  if (!flags.stop.empty()) {
    Json stops = Json::array();
    for (const std::string& stop : flags.stop) stops.push(stop);
    out.set("stop", std::move(stops));
  }
  if (!flags.sampling.logit_bias.empty()) {
    Json biases = Json::array();
    for (const auto& [id, bias] : flags.sampling.logit_bias) {
      // JSON has no infinity: false is what never comes.
      Json value =
          bias == -std::numeric_limits<float>::infinity() ? Json(false) : Json(double{bias});
      biases.push(Json::array().push(id).push(std::move(value)));
    }
    out.set("logit_bias", std::move(biases));
  }
  return out;
}

std::string own_option(const RunFlags& flags) {
  for (const char* option : kOwn) {
    if (is_given(flags, option)) return option;
  }
  return {};
}

void add_run_flags(CLI::App& app, RunFlags& flags) {
  add_model_argument(app, flags.model);
  app.add_option("PROMPT", flags.prompt,
                 "The prompt; what is piped in stands before it; none reads standard input, or "
                 "chats on a terminal");
  add_number(app, "-n,--max-tokens", flags.max_tokens, {kNoEnd, kCounts.highest},
             "At most this many tokens; 0 reads the prompt and writes none; -1, the default: until "
             "the end or the context is full");
  SamplingParams& sampling = flags.sampling;
  add_number(app, "--temp", sampling.temperature, range(kernels::kTemperature),
             "Temperature; 0 always takes the likeliest token");
  add_number(app, "--top-k", sampling.top_k, kCounts, "Keep the k likeliest tokens; 0 = all");
  add_number(app, "--top-p", sampling.top_p, range(kernels::kProbability),
             "Keep the likeliest tokens up to this probability; 1 = all");
  add_number(app, "--min-p", sampling.min_p, range(kernels::kProbability),
             "Drop tokens below this share of the likeliest; 0 = none");
  add_number(app, "--repeat-penalty", sampling.repeat_penalty, range(kernels::kRepeatPenalty),
             "Penalty on recent tokens; 1 = none");
  add_number(app, "--presence-penalty", sampling.presence_penalty, range(kernels::kPenalty),
             "Lower the logits of recent tokens by this; 0 = none");
  add_number(app, "--frequency-penalty", sampling.frequency_penalty, range(kernels::kPenalty),
             "Lower the logits of recent tokens by this each time they occur; 0 = none");
  add_number(app, "--repeat-last", sampling.repeat_last, kCounts,
             "How many tokens the three penalties look back on; 0 = none");
  not_empty(app.add_option("--logit-bias", flags.logit_bias,
                           "ID=V adds V to the logit of token ID, ID=-inf forbids it; may be given "
                           "several times")
                ->allow_extra_args(false));
  add_number(app, "--seed", flags.seed, {0, std::numeric_limits<uint64_t>::max()},
             "Seed of the draw; default: random");
  app.add_option("--system", flags.system, "System message");
  app.add_flag("--think{true}", flags.think,
               "Think before answering, where the model's template has a switch for it: --think, "
               "--think=false, --think=low, medium or high");
  app.add_flag("--hidethinking", flags.hides_thinking, "Do not show what the model thinks");
  app.add_flag("--nowordwrap", flags.no_word_wrap,
               "Do not break lines of a terminal between words");
  not_empty(app.add_option("--stop", flags.stop,
                           "End the text before this string; may be given several times")
                ->allow_extra_args(false));
  add_form_flags(app, flags.form);
  add_media_flags(app, flags.media);
  add_no_mmproj(app, flags.media);
  not_empty(app.add_option("--tokens", flags.tokens,
                           "Prompt as token ids, separated by commas; nothing is added"));
  app.add_flag("--raw", flags.raw, "Complete the prompt as plain text, without the chat template");
  not_empty(app.add_option("--template", flags.template_path,
                           "A file with a chat template (Jinja) to use in place of the model's"));
  app.add_flag("--ignore-eos", flags.ignore_end, "Go on after the end token");
  app.add_flag("--output-tokens", flags.output_tokens,
               "Print token ids instead of text, on one line");
  app.add_flag("--stats", flags.stats, "Print timings as one line of key=value on stderr");
  add_host_flag(app, flags.host);
  app.add_flag("--local", flags.local, "Run the model in this process, also where a server has it");
  not_empty(
      app.add_option("--keepalive", flags.keep_alive,
                     "How long a server keeps the model behind the answer: 5m, 300 (seconds), "
                     "-1 (always)"));
  add_engine_flags(app, flags.model);
}

}  // namespace puna::cli
