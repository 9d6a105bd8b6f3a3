#include "service/respond.h"

#include "service/stop_filter.h"

namespace puna::service {

using base::Result;
using base::Task;

namespace {

// Turns ids into events: text up to the first stop string, and what it means.
class Listener {
 public:
  Listener(const LoadedModel& model, const Prepared& prepared, OnEvent on_event)
      : tokenizer_(model.tokenizer.get()),
        style_(prepared.style),
        filter_(prepared.request.stop),
        on_event_(std::move(on_event)) {
    if (tokenizer_) decoder_.emplace(*tokenizer_);
    if (style_) {
      parser_ = style_->make_parser({.tools = prepared.request.tools,
                                     .thinking_open = prepared.thinking_open,
                                     .stream_arguments = false});
    }
  }

  // False when a stop string has been completed.
  bool hear(int32_t token, Reply& reply) {
    reply.tokens.push_back(token);
    show(token, filter_.push(text_of(token)), reply);
    return !filter_.stopped();
  }

  void finish(Reply& reply) {
    if (!filter_.stopped()) {
      std::string rest = filter_.push(decoder_ ? decoder_->finish() : std::string());
      if (!filter_.stopped()) rest += filter_.finish();
      if (!rest.empty()) show(-1, rest, reply);
    }
    if (!parser_) return;
    emit(-1, parser_->finish());
    reply.parsed = parser_->reply();
    reply.text = reply.parsed.content;
  }

 private:
  std::string text_of(int32_t token) {
    if (!decoder_) return {};
    std::string text = decoder_->push(token);
    if (!style_ || !tokenizer_->bytes(token).empty()) return text;
    const std::string mark = tokenizer_->bytes(token, /*special=*/true);
    return style_->reads_token(mark) ? text + mark : text;
  }

  void show(int32_t token, const std::string& text, Reply& reply) {
    if (parser_) return emit(token, parser_->feed(text));
    reply.text += text;
    if (on_event_) on_event_({token, text});
  }

  void emit(int32_t token, const std::vector<chat::ReplyEvent>& events) {
    if (!on_event_) return;
    if (events.empty() && token >= 0) on_event_({token, {}});
    for (const chat::ReplyEvent& event : events)
      on_event_({token, event.text, event.kind, event.call});
  }

  const tokenizer::Tokenizer* tokenizer_;
  const chat::ReplyStyle* style_;
  std::optional<tokenizer::StreamDecoder> decoder_;
  StopFilter filter_;
  std::unique_ptr<chat::ReplyParser> parser_;
  OnEvent on_event_;
};

}  // namespace

Task<Result<Reply>> respond(LoadedModel& model, Prepared prepared, OnEvent on_event) {
  engine::GenerateOptions options;
  options.sampling = prepared.request.sampling;
  options.max_tokens = prepared.request.max_tokens;
  options.ignore_end = prepared.request.ignore_end;
  options.control = prepared.request.control;

  Reply reply;
  Listener listener(model, prepared, std::move(on_event));
  std::vector<int32_t> end_tokens;
  if (model.tokenizer) end_tokens = model.tokenizer->vocabulary().end_tokens;
  PUNA_CO_TRY(reply.stats,
              co_await model.scheduler->generate(
                  std::move(prepared.tokens), std::move(options), std::move(end_tokens),
                  [&](int32_t token) { return listener.hear(token, reply); }));
  listener.finish(reply);
  co_return reply;
}

Result<Reply> run(LoadedModel& model, Prepared prepared, const OnEvent& on_event) {
  return base::run_until(respond(model, std::move(prepared), on_event), [&] { model.poll(); });
}

Result<Reply> run(LoadedModel& model, Request request, const OnEvent& on_event) {
  PUNA_TRY(Prepared prepared, prepare(model, std::move(request)));
  return run(model, std::move(prepared), on_event);
}

}  // namespace puna::service
