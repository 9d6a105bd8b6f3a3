#include "api/slot_table.h"

#include <algorithm>
#include <utility>

namespace puna::api {

namespace {

// A text goes on with another one when they have more than one token of so many of its prompt in
// common: any two may begin alike, as templates do. llama-server's --slot-prompt-similarity, whose
// default is 0.1.
constexpr size_t kAlike = 10;

size_t n_common(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::shared_ptr<SlotTable::Use> SlotTable::add(std::optional<uint32_t> wanted,
                                               std::function<void()> granted) {
  // The constructor is no one else's.
  return std::shared_ptr<Use>(new Use(shared_from_this(), wanted, std::move(granted)));
}

std::shared_ptr<SlotTable::Use> SlotTable::any() { return add({}, {}); }

std::shared_ptr<SlotTable::Use> SlotTable::take(uint32_t slot, std::function<void()> granted) {
  auto out = add(slot, std::move(granted));
  std::function<void()> tell;
  {
    const std::lock_guard lock(mutex_);
    if (slots_.at(slot).user) {
      waiting_.push_back(out.get());
    } else {
      give(slot, *out);
      tell = std::exchange(out->granted_, nullptr);
    }
  }
  if (tell) tell();
  return out;
}

std::shared_ptr<SlotTable::Use> SlotTable::try_take(uint32_t slot) {
  auto out = add(slot, {});
  const std::lock_guard lock(mutex_);
  if (slots_.at(slot).user) return nullptr;
  give(slot, *out);
  return out;
}

std::vector<SlotTable::Look> SlotTable::look() const {
  const std::lock_guard lock(mutex_);
  std::vector<Look> out;
  for (const Slot& slot : slots_) {
    const bool writes = slot.user && slot.user->text_;
    out.push_back({.task = writes ? slot.user->text_->task : slot.text.task,
                   .busy = slot.user != nullptr,
                   .writes = writes});
  }
  return out;
}

std::optional<uint32_t> SlotTable::free_slot(std::span<const int32_t> prompt) const {
  const Slot *closest = nullptr, *oldest = nullptr;
  size_t most = prompt.size() / kAlike;
  for (const Slot& slot : slots_) {
    if (slot.user) continue;
    if (!oldest || slot.used < oldest->used) oldest = &slot;
    const size_t n = n_common(slot.text.tokens, prompt);
    if (n <= most) continue;
    most = n;
    closest = &slot;
  }
  const Slot* const best = closest ? closest : oldest;
  if (!best) return {};
  return static_cast<uint32_t>(best - slots_.data());
}

void SlotTable::give(uint32_t slot, Use& use) {
  slots_[slot].user = &use;
  slots_[slot].used = ++clock_;
  use.slot_ = slot;
}

std::optional<uint32_t> SlotTable::Use::slot() const {
  const std::lock_guard lock(table_->mutex_);
  return slot_;
}

void SlotTable::Use::begin(std::vector<int32_t> prompt, const service::Request& request,
                           bool stream) {
  Text text;
  Task& task = text.task;
  task.n_prompt = static_cast<uint32_t>(prompt.size());
  task.request.sampling = request.sampling;
  task.request.max_tokens = request.max_tokens;
  task.request.stop = request.stop;
  task.request.ignore_end = request.ignore_end;
  task.stream = stream;
  text.tokens = std::move(prompt);
  const std::lock_guard lock(table_->mutex_);
  task.id = ++table_->n_tasks_;
  if (!slot_) {
    if (const auto slot = table_->free_slot(text.tokens)) {
      table_->give(*slot, *this);
    } else {
      table_->waiting_.push_back(this);
    }
  }
  text_ = std::move(text);
}

void SlotTable::Use::note(const service::Event& event) {
  const std::lock_guard lock(table_->mutex_);
  if (!text_) return;
  Task& task = text_->task;
  if (event.prompt) {
    task.n_cached = event.prompt->n_cached;
    task.n_evaluated = event.prompt->n_read - task.n_cached;
  }
  // A token may bring several events.
  if (event.token >= 0 && event.n_tokens > task.n_decoded) {
    text_->tokens.push_back(event.token);
    task.n_decoded = event.n_tokens;
  }
  if (event.text.find('\n') != std::string::npos) task.has_new_line = true;
}

void SlotTable::Use::end(const service::Reply& reply) {
  {
    const std::lock_guard lock(table_->mutex_);
    if (text_) {
      Task& task = text_->task;
      if (reply.stats.n_discarded > 0) {
        text_->tokens = reply.stats.left;
      } else {
        text_->tokens.resize(task.n_prompt);
        text_->tokens.insert(text_->tokens.end(), reply.tokens.begin(), reply.tokens.end());
      }
      task.n_decoded = reply.stats.n_generated;
      task.n_evaluated = reply.stats.n_prompt;
      task.n_cached = reply.stats.n_cached;
    }
  }
  leave();
}

void SlotTable::Use::leave() {
  std::function<void()> tell;
  {
    const std::lock_guard lock(table_->mutex_);
    if (std::exchange(left_, true)) return;
    std::erase(table_->waiting_, this);
    if (!slot_) return;
    Slot& slot = table_->slots_[*slot_];
    slot.user = nullptr;
    if (text_) slot.text = *std::move(text_);
    const auto next = std::ranges::find_if(
        table_->waiting_, [&](const Use* use) { return !use->wanted_ || use->wanted_ == slot_; });
    if (next == table_->waiting_.end()) return;
    Use& use = **next;
    table_->waiting_.erase(next);
    table_->give(*slot_, use);
    tell = std::exchange(use.granted_, nullptr);
  }
  if (tell) tell();
}

std::vector<int32_t> SlotTable::Use::tokens() const {
  const std::lock_guard lock(table_->mutex_);
  return table_->slots_.at(slot_.value()).text.tokens;
}

uint32_t SlotTable::Use::n_shared() const {
  const std::lock_guard lock(table_->mutex_);
  const std::vector<int32_t>& own = table_->slots_.at(slot_.value()).text.tokens;
  size_t most = 0;
  for (uint32_t i = 0; i < table_->n_slots(); ++i) {
    const std::vector<int32_t>& other = table_->slots_[i].text.tokens;
    const size_t n = n_common(other, own);
    // Of a text that goes another way from there on the cache knows by itself. The last token of a
    // text is in no cache.
    if (i != slot_ && n + 1 >= other.size()) most = std::max(most, n);
  }
  return static_cast<uint32_t>(most);
}

void SlotTable::Use::replace(std::vector<int32_t> tokens, bool forget) {
  const std::lock_guard lock(table_->mutex_);
  Text& text = table_->slots_.at(slot_.value()).text;
  if (forget) text.task = {};
  text.tokens = std::move(tokens);
}

}  // namespace puna::api
