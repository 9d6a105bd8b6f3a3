#include "service/respond.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "service/stop_filter.h"

namespace puna::service {

using base::Result;
using base::Task;

namespace {

// Turns ids into text up to the first stop string.
class Decoder {
 public:
  Decoder(const LoadedModel& model, const Prepared& prepared)
      : tokenizer_(model.tokenizer.get()),
        style_(prepared.style),
        special_(prepared.request.special),
        preserved_(prepared.request.preserved),
        filter_(prepared.request.stop) {
    if (tokenizer_) decoder_.emplace(*tokenizer_, special_);
  }

  std::string push(int32_t token) { return filter_.push(text_of(token)); }
  bool stopped() const { return filter_.stopped(); }
  const std::string& stop_text() const { return filter_.stop_text(); }
  // What is left at the end.
  std::string finish() {
    if (filter_.stopped()) return {};
    std::string rest = filter_.push(decoder_ ? decoder_->finish() : std::string());
    if (!filter_.stopped()) rest += filter_.finish();
    return rest;
  }

 private:
  std::string text_of(int32_t token) {
    if (!decoder_) return {};
    std::string text = decoder_->push(token);
    const bool none_read = !style_ && preserved_.empty();
    if (none_read || special_ || !tokenizer_->bytes(token).empty()) return text;
    const std::string mark = tokenizer_->bytes(token, /*special=*/true);
    const bool is_read = (style_ && style_->reads_token(mark)) ||
                         std::ranges::find(preserved_, mark) != preserved_.end();
    return is_read ? text + mark : text;
  }

  const tokenizer::Tokenizer* tokenizer_;
  const chat::ReplyStyle* style_;
  bool special_;
  std::vector<std::string> preserved_;
  std::optional<tokenizer::StreamDecoder> decoder_;
  StopFilter filter_;
};

}  // namespace

Task<Result<engine::GenerateStats>> respond(LoadedModel& model, Prepared prepared, OnPiece on_piece,
                                            OnPrompt on_prompt) {
  engine::GenerateOptions options;
  options.sampling = prepared.request.sampling;
  options.max_tokens = prepared.request.max_tokens;
  options.ignore_end = prepared.request.ignore_end;
  options.shift = prepared.request.shift;
  options.reuse = prepared.request.reuse;
  options.control = prepared.request.control;
  options.filter = prepared.filter;
  base::Timer timer;
  bool begun = false;
  options.on_prompt = [&](const engine::PromptProgress& progress) {
    if (!std::exchange(begun, true)) timer = {};
    if (on_prompt) on_prompt(progress);
  };

  Decoder decoder(model, prepared);
  std::vector<int32_t> end_tokens;
  if (model.tokenizer) end_tokens = model.tokenizer->vocabulary().end_tokens;
  PUNA_CO_TRY(const engine::GenerateStats stats,
              co_await model.scheduler->generate(
                  std::move(prepared.prompt), std::move(options), std::move(end_tokens),
                  [&](const kernels::Chosen& chosen) {
                    std::string text = decoder.push(chosen.id);
                    on_piece({chosen, std::move(text), decoder.stop_text(), timer.ms()});
                    return !decoder.stopped();
                  }));
  // The stop string may be complete only now, where no more bytes of a character come.
  const bool stopped = decoder.stopped();
  std::string rest = decoder.finish();
  if (!rest.empty() || decoder.stopped() != stopped)
    on_piece({{}, std::move(rest), decoder.stop_text()});
  co_return stats;
}

}  // namespace puna::service
