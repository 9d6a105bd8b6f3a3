#include "server/texts_run.h"

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"

namespace puna::server {

using base::Result;

struct TextsRun::Text {
  std::shared_ptr<api::SlotTable::Use> slot;  // until its end
  std::shared_ptr<Admission::Place> place;
  std::unique_ptr<service::Hosts::Part> part;  // from when its model was given it until its end
  std::unique_ptr<service::Answer> answer;     // as long
  // To begin again on another device, while nothing of it was read; none: there is no other.
  std::optional<service::Prepared> again;
  std::optional<service::Reply> reply;
  // A sign that there is something to read is on its way.
  std::shared_ptr<std::atomic<bool>> told = std::make_shared<std::atomic<bool>>(false);
  std::optional<base::Timer> since_token;
  uint32_t n_tokens = 0;  // that were read
};

TextsRun::TextsRun(std::shared_ptr<Core> core, const Incoming& incoming,
                   std::shared_ptr<Responder> responder, Plan plan, OnEnd on_end)
    : core_(std::move(core)),
      incoming_(incoming),
      responder_(std::move(responder)),
      plan_(std::move(plan)),
      on_end_(std::move(on_end)),
      metrics_(core_->metrics.of(plan_.model->id)) {}

TextsRun::~TextsRun() = default;

void TextsRun::start() {
  if (plan_.stream) responder_->ping_every(plan_.ping);
  if (plan_.prepared.size() == 1) prompt_ = plan_.prepared.front().prompt.tokens();
  for (size_t i = 0; i < plan_.prepared.size(); ++i) texts_.push_back(std::make_unique<Text>());
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (!plan_.slot) {
      texts_[i]->slot = plan_.model->slots->any();
      ask_place(i);
      continue;
    }
    // Who waits for a slot keeps no place from others.
    texts_[i]->slot =
        plan_.model->slots->take(*plan_.slot, [weak = weak_from_this(), responder = responder_, i] {
          responder->post([weak, i] {
            if (const auto self = weak.lock()) self->ask_place(i);
          });
        });
  }
  if (texts_.empty()) finish();
}

void TextsRun::ask_place(size_t index) {
  if (over_) return;
  texts_[index]->place = core_->admission.ask(
      *plan_.model, incoming_.client, [weak = weak_from_this(), responder = responder_, index] {
        responder->post([weak, index] {
          if (const auto self = weak.lock()) self->begin_text(index);
        });
      });
}

void TextsRun::begin_text(size_t index) {
  if (over_) return;
  Text& text = *texts_[index];
  metrics_.queue_time.add(incoming_.since_head.ms() / 1e3);
  service::Prepared& prepared = plan_.prepared[index];
  text.slot->begin(prepared.prompt.tokens(), prepared.request, plan_.stream);
  give(text, std::move(prepared));
}

void TextsRun::give(Text& text, service::Prepared prepared) {
  // On the thread of the engine, which must not be the one that has it last.
  const auto on_ready = [weak = weak_from_this(), told = text.told,
                         responder = std::weak_ptr(responder_)] {
    if (told->exchange(true)) return;
    const auto to = responder.lock();
    if (!to) return;
    to->post([weak, told] {
      *told = false;
      if (const auto self = weak.lock()) self->go_on();
    });
  };
  service::Hosts& hosts = *plan_.model->hosts;
  text.part = hosts.take(prepared.prompt.tokens());
  if (hosts.all().size() > 1) {
    text.again = prepared;
    if (prepared.filter) text.again->filter = prepared.filter->fork();
  }
  auto answer = text.part->host().post(std::move(prepared), on_ready);
  if (!answer) return fail(answer.error());
  text.answer = *std::move(answer);
}

void TextsRun::go_on() {
  // A sign may come behind the last event, when the replies are on their way already.
  if (over_ || n_ended_ == texts_.size()) return;
  const auto self = shared_from_this();  // whatever is written may end it
  bool is_short = false;
  // A client that has room again says so, a stream that is kept always has some.
  do {
    std::string out;
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (!texts_[i]->answer) continue;
      if (read(i, out)) ++n_ended_;
      if (over_) return;
    }
    is_short = is_full(out);
    if (!out.empty()) responder_->write(std::move(out));
    if (over_) return;
  } while (is_short && !is_full({}));
  for (const auto& text : texts_) {
    if (text->answer) text->place->set_behind(is_full({}));
  }
  if (n_ended_ == texts_.size()) finish();
}

bool TextsRun::read(size_t index, std::string& out) {
  Text& text = *texts_[index];
  if (const auto slot = text.slot->slot()) plan_.writer->set_slot(index, *slot);
  while (!plan_.stream || !is_full(out)) {
    const auto event = text.answer->next();
    if (!event) break;
    // A token may bring several events.
    if (event->n_tokens > text.n_tokens) {
      text.n_tokens = event->n_tokens;
      text.again.reset();
      note_token(text);
    }
    text.slot->note(*event);
    if (!plan_.stream) continue;
    open_stream();
    const std::string frames = plan_.writer->next(index, *event);
    // A prompt that fails further on has a status of its own, where nobody wants to know how far it
    // is read.
    if (frames.empty() && event->prompt) continue;
    begin_stream();
    out += frames;
  }
  if (!text.answer->ended()) return false;
  Result<service::Reply> reply = text.answer->reply();
  text.answer.reset();
  if (!reply && text.again && text.part->may_move()) {
    base::log_warning("{}: a text begins again on another GPU: {} [{}]", plan_.model->id,
                      reply.error().text(), base::printable(incoming_.id));
    give(text, *std::exchange(text.again, std::nullopt));
    return false;
  }
  text.part.reset();
  text.place.reset();
  if (reply) text.slot->end(*reply);
  text.slot.reset();
  if (!reply) {
    if (begun_) responder_->write(std::exchange(out, {}));
    fail(reply.error());
    return false;
  }
  const Totals totals = totals_of(*reply);
  totals_.add(totals);
  metrics_.add(totals);
  if (plan_.stream) {
    begin_stream();
    out += plan_.writer->end(index, *reply);
  }
  text.reply = *std::move(reply);
  return true;
}

void TextsRun::note_token(Text& text) {
  if (text.since_token) {
    const double seconds = text.since_token->ms() / 1e3;
    metrics_.token_gap.add(seconds);
    totals_.gaps.add(seconds);
  } else {
    metrics_.first_token.add(incoming_.since_head.ms() / 1e3);
  }
  text.since_token.emplace();
}

bool TextsRun::is_full(const std::string& out) const {
  return responder_->n_waiting() + out.size() >= Responder::kMostWaiting;
}

void TextsRun::open_stream() {
  if (!opening_) opening_ = plan_.writer->begin();
}

void TextsRun::begin_stream() {
  if (std::exchange(begun_, true)) return;
  open_stream();
  responder_->begin({.status = 200,
                     .content_type = std::string(plan_.writer->content_type()),
                     .body = *std::move(opening_),
                     .headers = plan_.writer->headers()});
}

void TextsRun::ping() {
  if (over_) return;
  std::string text = plan_.writer->ping();
  if (text.empty()) return;
  begin_stream();
  // A reader that is behind has enough to read.
  if (responder_->n_waiting() == 0) responder_->write(std::move(text));
}

void TextsRun::finish() {
  if (plan_.stream) {
    begin_stream();
    responder_->write(plan_.writer->finish());
    end(200);
    responder_->finish();
    return;
  }
  // A long reply takes its time to be written out, in which the streams of others go on.
  core_->pool.go_on([self = shared_from_this(), model = plan_.model,
                     writer = std::shared_ptr<api::Writer>(std::move(plan_.writer))] {
    std::vector<service::Reply> replies;
    for (const auto& text : self->texts_) replies.push_back(*std::move(text->reply));
    auto reply = std::make_shared<api::HttpReply>(writer->whole(std::move(replies)));
    self->responder_->post([self, reply] {
      if (self->over_) return;
      self->end(reply->status);
      self->responder_->send(std::move(*reply));
    });
  });
}

void TextsRun::drop() {
  if (over_) return;
  end(499);
}

void TextsRun::cancel() {
  if (over_) return;
  for (const auto& text : texts_) {
    // One that its model was not given has no end that could be written.
    if (!text->answer && !text->reply)
      return fail({base::ErrorCode::kInvalidArgument, "The request was cancelled.", {}});
  }
  for (const auto& text : texts_) {
    if (text->answer) text->answer->cancel();
  }
}

void TextsRun::fail(const base::Error& error) {
  if (over_) return;
  api::HttpReply reply = error_reply(incoming_.dialect, error);
  std::string last = begun_ ? plan_.writer->fail(error) : std::string();
  end(begun_ ? 200 : reply.status);
  if (!begun_) return responder_->send(std::move(reply));
  responder_->write(std::move(last));
  responder_->finish();
}

void TextsRun::end(int status) {
  over_ = true;
  note_reuse();
  release();
  if (core_->options.behind_server)
    responder_->add_trailer(std::string(kTotalsHeader), to_text(totals_));
  on_end_(totals_, status);
  // The connection may keep this for long; the model need not stay for it.
  plan_.writer.reset();
  plan_.model.reset();
}

void TextsRun::note_reuse() {
  if (prompt_.empty() || totals_.n_prompt + totals_.n_cached == 0) return;
  // Tokens of different models have nothing to do with each other.
  const std::string client = incoming_.client + " of " + plan_.model->id;
  const auto said =
      core_->reuse.note(client, std::move(prompt_), static_cast<uint32_t>(totals_.n_cached),
                        plan_.model->loaded().tokenizer.get());
  if (said) base::log_info("{}: {} [{}]", plan_.model->id, *said, base::printable(incoming_.id));
}

void TextsRun::release() {
  for (const auto& text : texts_) {
    if (text->slot && !text->reply) {
      const Totals cancelled{.n_texts = 1, .n_cancelled = 1};
      totals_.add(cancelled);
      metrics_.add(cancelled);
    }
    text->answer.reset();
    text->part.reset();
    text->place.reset();
    text->slot.reset();
  }
  plan_.count.reset();
}

}  // namespace puna::server
