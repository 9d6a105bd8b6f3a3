#include "cli/chat/figures.h"

#include <fmt/format.h>

#include "cli/output.h"

namespace puna::cli {
namespace {

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

std::string duration(double ms) {
  if (ms < 1000) return fmt::format("{:.3f}ms", ms);
  if (ms < 60'000) return fmt::format("{:.3f}s", ms / 1000);
  const auto minutes = static_cast<int64_t>(ms / 60'000);
  return fmt::format("{}m{:.3f}s", minutes, ms / 1000 - static_cast<double>(minutes) * 60);
}

double per_second(double n, double ms) { return ms > 0 ? n * 1000 / ms : 0; }

void line(const char* what, const std::string& value) {
  print_err("{:<22}{}\n", fmt::format("{}:", what), value);
}

void phase(const char* name, uint32_t n, double ms) {
  if (n == 0 && ms <= 0) return;
  line(fmt::format("{} count", name).c_str(), fmt::format("{} token(s)", n));
  line(fmt::format("{} duration", name).c_str(), duration(ms));
  line(fmt::format("{} rate", name).c_str(), fmt::format("{:.2f} tokens/s", per_second(n, ms)));
}

}  // namespace

void print_figures(const Figures& figures) {
  print_err("\n");
  line("total duration", duration(figures.total_ms));
  if (figures.load_ms > 0) line("load duration", duration(figures.load_ms));
  phase("prompt eval", figures.n_prompt, figures.prompt_ms);
  if (figures.n_cached > 0) line("prompt cached", fmt::format("{} token(s)", figures.n_cached));
  phase("eval", figures.n_generated, figures.decode_ms);
}

void print_stats(const ChatModel& model, const Figures& s, double load_ms) {
  print_err(
      "device=\"{}\" load_ms={:.1f} prompt_tokens={} cached_tokens={} prompt_ms={:.1f} "
      "prompt_tokens_per_s={:.1f} "
      "generated_tokens={} decode_ms={:.1f} decode_tokens_per_s={:.1f} stop={}\n",
      model.where(), load_ms, s.n_prompt, s.n_cached, s.prompt_ms,
      per_second(s.n_prompt, s.prompt_ms), s.n_generated, s.decode_ms,
      s.n_generated > 1 ? per_second(s.n_generated - 1, s.decode_ms) : 0, name(s.stop));
}

}  // namespace puna::cli
