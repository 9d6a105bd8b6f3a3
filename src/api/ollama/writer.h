// What chats and completions of Ollama's dialect have in common when they are written: lines of
// JSON, of which the last has what was counted and measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/exchange.h"
#include "api/ollama/asked.h"
#include "base/clock.h"
#include "tokenizer/tokenizer.h"

namespace puna::api::ollama {

class LineWriter : public Writer {
 public:
  // The model stays as long as its texts are written.
  LineWriter(const Asked& asked, uint32_t n_truncated, const service::LoadedModel& model);

  std::string_view content_type() const override { return "application/x-ndjson"; }
  std::vector<std::pair<std::string, std::string>> headers() const override;
  std::string finish() override { return {}; }
  std::string fail(const base::Error& error) override;
  // Clients take every line for an answer, so there is none that says nothing.
  std::string ping() override { return {}; }

 protected:
  // {model, created_at}
  base::Json head() const;
  // The token of an event, for the next piece.
  void note(const service::Event& event);
  // With the probabilities of the tokens that were noted.
  base::Json piece(base::Json out);
  // The last line: {…, done, done_reason, durations, counts}.
  base::Json last(base::Json out, const service::Reply& reply) const;
  // An answer as a whole: the last line with all probabilities.
  HttpReply answer(base::Json out, const service::Reply& reply);

 private:
  base::Json probabilities() const;

  const std::string model_;
  const std::optional<uint32_t> top_logprobs_;
  const uint32_t n_truncated_;
  const tokenizer::Tokenizer* tokenizer_;
  const double load_ms_;
  const base::Timer timer_;
  std::vector<kernels::Chosen> chosen_;  // not yet written
};

// In place of an answer, where there is nothing to be answered: {…, done_reason: "load" or
// "unload"}. `rest` is what stands beside.
HttpReply loaded_reply(const Asked& asked, const base::Json& rest);

}  // namespace puna::api::ollama
