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
  bool hear(const kernels::Chosen& chosen, Reply& reply) {
    reply.tokens.push_back(chosen.id);
    show(chosen, filter_.push(text_of(chosen.id)), reply);
    return !filter_.stopped();
  }

  void finish(Reply& reply) {
    if (!filter_.stopped()) {
      std::string rest = filter_.push(decoder_ ? decoder_->finish() : std::string());
      if (!filter_.stopped()) rest += filter_.finish();
      if (!rest.empty()) show({}, rest, reply);
    }
    if (!parser_) return;
    emit({}, parser_->finish());
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

  // chosen: the token that brings this; none at the end.
  void show(const kernels::Chosen& chosen, const std::string& text, Reply& reply) {
    if (parser_) return emit(chosen, parser_->feed(text));
    reply.text += text;
    if (on_event_) on_event_(with_probabilities({chosen.id, text}, chosen));
  }

  void emit(const kernels::Chosen& chosen, const std::vector<chat::ReplyEvent>& parts) {
    if (!on_event_) return;
    std::vector<Event> events;
    for (const chat::ReplyEvent& part : parts)
      events.push_back({chosen.id, part.text, part.kind, part.call});
    if (events.empty() && chosen.id != kernels::kNoToken) events.push_back({chosen.id, {}});
    for (size_t i = 0; i < events.size(); ++i)
      on_event_(i == 0 ? with_probabilities(std::move(events[i]), chosen) : events[i]);
  }

  static Event with_probabilities(Event event, const kernels::Chosen& chosen) {
    event.logprob = chosen.logprob;
    event.top = chosen.top;
    return event;
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
                  [&](const kernels::Chosen& chosen) { return listener.hear(chosen, reply); }));
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
