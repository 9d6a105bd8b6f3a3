#include "server/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace puna::server {
namespace {

// A value of a label, as the text format escapes it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

class MetricsText {
 public:
  explicit MetricsText(std::string& out) : out_(out) {}

  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(out_), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  template <class Value>
  void value(std::string_view name, std::string_view labels, Value value) {
    if (labels.empty()) {
      fmt::format_to(std::back_inserter(out_), "{} {}\n", name, value);
    } else {
      fmt::format_to(std::back_inserter(out_), "{}{{{}}} {}\n", name, labels, value);
    }
  }
  template <class Value>
  void one(std::string_view name, std::string_view type, std::string_view help, Value v) {
    head(name, type, help);
    value(name, "", v);
  }

 private:
  std::string& out_;
};

// Anybody may send any word for a method, and what is counted by it stays: others count together.
std::string_view counted_as(std::string_view method) {
  constexpr std::array<std::string_view, 9> kMethods = {
      "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"};
  return std::ranges::find(kMethods, method) == kMethods.end() ? "other" : method;
}

double seconds(uint64_t us) { return static_cast<double>(us) / 1e6; }

}  // namespace

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
  uint64_t count = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i];
    const std::string bound =
        i < Durations::kBounds.size() ? fmt::format("{}", Durations::kBounds[i]) : "+Inf";
    fmt::format_to(std::back_inserter(out), "{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound,
                   count);
  }
  fmt::format_to(std::back_inserter(out), "{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name,
                 labels, seconds(sum_us_), count);
}

void ModelMetrics::add(const Totals& totals) {
  n_texts += totals.n_texts;
  n_cancelled += totals.n_cancelled;
  n_prompt += totals.n_prompt;
  n_cached += totals.n_cached;
  n_generated += totals.n_generated;
  n_decoded += totals.n_decoded;
  n_embedded += totals.n_embedded;
  prompt_us += totals.prompt_us;
  decode_us += totals.decode_us;
  token_gap.add(totals.gaps);
  uint64_t most = most_tokens;
  while (most < totals.most_tokens &&
         !most_tokens.compare_exchange_weak(most, totals.most_tokens)) {
  }
}

ModelMetrics& Metrics::of(const std::string& model) {
  const std::lock_guard lock(mutex_);
  auto& out = models_[model];
  if (!out) out = std::make_unique<ModelMetrics>();
  return *out;
}

void Metrics::count_request(std::string_view method, std::string_view route, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{fmt::format("method=\"{}\",route=\"{}\"", counted_as(method), escaped(route)),
               status}];
}

std::string Metrics::text(const Now& now) {
  const std::lock_guard lock(mutex_);
  uint64_t n_prompt = 0, n_cached = 0, n_generated = 0, n_decoded = 0, prompt_us = 0, decode_us = 0,
           most = 0;
  for (const auto& [id, model] : models_) {
    n_prompt += model->n_prompt + model->n_embedded;
    n_cached += model->n_cached;
    n_generated += model->n_generated;
    n_decoded += model->n_decoded;
    prompt_us += model->prompt_us;
    decode_us += model->decode_us;
    most = std::max<uint64_t>(most, model->most_tokens);
  }
  std::vector<std::pair<std::string, service::HostStatus>> hosts;
  uint32_t n_running = 0, n_waiting = now.n_waiting;
  uint64_t n_steps = 0, n_in_steps = 0;
  for (const auto& model : now.models) {
    hosts.emplace_back(fmt::format("model=\"{}\"", escaped(model->id)), model->status());
    n_running += hosts.back().second.n_running;
    n_waiting += hosts.back().second.n_waiting;
    n_steps += hosts.back().second.steps.n_steps;
    n_in_steps += hosts.back().second.steps.n_texts;
  }
  const auto rate = [](uint64_t n, uint64_t us) {
    return us == 0 ? 0.0 : static_cast<double>(n) / seconds(us);
  };

  std::string out;
  MetricsText page(out);
  // Those of llama-server, under its names, of all models together.
  page.one("llamacpp:prompt_tokens_total", "counter", "Prompt tokens evaluated.", n_prompt);
  page.one("llamacpp:prompt_tokens_cached_total", "counter", "Prompt tokens known before.",
           n_cached);
  page.one("llamacpp:prompt_seconds_total", "counter", "Time spent on prompts.",
           seconds(prompt_us));
  page.one("llamacpp:tokens_predicted_total", "counter", "Tokens written.", n_generated);
  page.one("llamacpp:tokens_predicted_seconds_total", "counter", "Time spent on writing.",
           seconds(decode_us));
  page.one("llamacpp:n_tokens_max", "counter", "Most tokens of one text.", most);
  page.one("llamacpp:n_decode_total", "counter", "Steps of the engine.", n_steps);
  page.one("llamacpp:n_busy_slots_per_decode", "gauge", "Texts in a step, on average.",
           n_steps == 0 ? 0.0 : static_cast<double>(n_in_steps) / static_cast<double>(n_steps));
  page.one("llamacpp:prompt_tokens_seconds", "gauge",
           "Prompt tokens per second since the last time this was asked.",
           rate(n_prompt - last_prompt_, prompt_us - last_prompt_us_));
  page.one("llamacpp:predicted_tokens_seconds", "gauge",
           "Tokens written per second since the last time this was asked.",
           rate(n_decoded - last_decoded_, decode_us - last_decode_us_));
  page.one("llamacpp:requests_processing", "gauge", "Texts that are written.", n_running);
  page.one("llamacpp:requests_deferred", "gauge", "Texts that wait.", n_waiting);
  last_prompt_ = n_prompt;
  last_prompt_us_ = prompt_us;
  last_decoded_ = n_decoded;
  last_decode_us_ = decode_us;

  // Our own.
  page.one("puna:connections", "gauge", "Open connections.", now.n_connections);
  page.one("puna:requests_unread", "gauge", "Requests that no thread has taken up.", now.n_unread);
  page.one("puna:texts_queued", "gauge", "Texts that no model was given yet.", now.n_waiting);
  page.head("puna:http_requests_total", "counter", "Requests that were answered.");
  for (const auto& [key, count] : requests_)
    page.value("puna:http_requests_total", fmt::format("{},status=\"{}\"", key.first, key.second),
               count);
  const auto gauge = [&](std::string_view name, std::string_view help, auto of) {
    page.head(name, "gauge", help);
    for (const auto& [labels, status] : hosts) page.value(name, labels, of(status));
  };
  using Status = service::HostStatus;
  gauge("puna:texts_running", "Texts that have a sequence.",
        [](const Status& status) { return status.n_running; });
  gauge("puna:texts_waiting", "Texts that a model was given, and that have no sequence.",
        [](const Status& status) { return status.n_waiting; });
  gauge("puna:texts_held", "Texts whose readers are behind.",
        [](const Status& status) { return status.n_held; });
  gauge("puna:kv_pages", "Pages of the KV cache.",
        [](const Status& status) { return status.n_pages; });
  gauge("puna:kv_pages_in_use", "Pages of texts that are written.",
        [](const Status& status) { return status.n_pages_in_use; });
  gauge("puna:kv_pages_free", "Pages with nothing in them.",
        [](const Status& status) { return status.n_pages_free; });
  const auto count = [&](std::string_view name, std::string_view help, auto of) {
    page.head(name, "counter", help);
    for (const auto& [labels, status] : hosts) page.value(name, labels, of(status));
  };
  count("puna:media_encoded_total", "Pictures and sounds that went through an encoder.",
        [](const Status& status) { return status.n_media_encoded; });
  count("puna:media_found_total", "Pictures and sounds whose rows were known.",
        [](const Status& status) { return status.n_media_found; });
  const auto counter = [&](std::string_view name, std::string_view help, auto member) {
    page.head(name, "counter", help);
    for (const auto& [id, model] : models_)
      page.value(name, fmt::format("model=\"{}\"", escaped(id)), ((*model).*member).load());
  };
  counter("puna:texts_total", "Texts that have ended.", &ModelMetrics::n_texts);
  counter("puna:texts_cancelled_total", "Texts that were given up.", &ModelMetrics::n_cancelled);
  counter("puna:prefix_hit_tokens_total", "Prompt tokens known before.", &ModelMetrics::n_cached);
  counter("puna:prefix_miss_tokens_total", "Prompt tokens evaluated.", &ModelMetrics::n_prompt);
  counter("puna:steps_overdue_total", "Steps that took ten times what they should have.",
          &ModelMetrics::n_overdue);
  if (!now.known.empty()) {
    const auto each_model = [&](std::string_view name, std::string_view type, std::string_view help,
                                auto of) {
      page.head(name, type, help);
      for (const api::ModelStatus& model : now.known)
        page.value(name, fmt::format("model=\"{}\"", escaped(model.id)), of(model));
    };
    using Known = api::ModelStatus;
    each_model("puna:model_loaded", "gauge", "1: it is loaded, 0: it is not.",
               [](const Known& model) { return model.state == api::ModelState::kLoaded ? 1 : 0; });
    each_model("puna:model_loads_total", "counter", "How often a model was loaded.",
               [](const Known& model) { return model.n_loads; });
    each_model("puna:model_evictions_total", "counter",
               "How often a model has gone since another needed its room.",
               [](const Known& model) { return model.n_evictions; });
    page.head("puna:model_memory_bytes", "gauge",
              "What a model takes that is loaded, or waits for room, by device.");
    for (const Known& model : now.known) {
      for (const auto& [device, bytes] : model.held) {
        page.value("puna:model_memory_bytes",
                   fmt::format("model=\"{}\",device=\"{}\"", escaped(model.id), escaped(device)),
                   bytes);
      }
    }
  }
  const auto histogram = [&](std::string_view name, std::string_view help, auto member) {
    page.head(name, "histogram", help);
    for (const auto& [id, model] : models_)
      ((*model).*member).write(out, name, fmt::format("model=\"{}\"", escaped(id)));
  };
  histogram("puna:queue_seconds", "From a request until a model was given its text.",
            &ModelMetrics::queue_time);
  histogram("puna:first_token_seconds", "From a request to its first token.",
            &ModelMetrics::first_token);
  histogram("puna:token_gap_seconds", "Between two tokens of a text.", &ModelMetrics::token_gap);
  return out;
}

}  // namespace puna::server
