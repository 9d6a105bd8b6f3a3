// SlotTable: the texts of a model by number, as llama.cpp's server has them. There a slot is where
// a text is written and what is known of it afterwards; here all texts share one cache, and a slot
// is a label: for the text that is being written under its number, or was last. It can be asked for
// (`id_slot`), looked at, saved, restored and erased (llama/slots.h). Any thread, none of which
// waits for the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "service/request.h"

namespace puna::api {

class SlotTable : public std::enable_shared_from_this<SlotTable> {
 public:
  // What is told of a text, from where it begins on.
  struct Task {
    uint64_t id = 0;  // texts are counted from 1 on; 0: none has begun
    uint32_t n_prompt = 0;
    service::Request request;  // how it is written; without what it is written from
    bool stream = false;
    uint32_t n_decoded = 0;
    bool has_new_line = false;
    // Of the prompt.
    uint32_t n_evaluated = 0, n_cached = 0;
  };
  // Of a slot.
  struct Look {
    Task task;            // its last
    bool busy = false;    // somebody has it
    bool writes = false;  // and the task goes on
  };

 private:
  struct Text {
    std::vector<int32_t> tokens;  // its prompt, then the answer as far as it was read
    Task task;
  };

 public:
  // Who has a slot, or waits for one; whoever drops it leaves it. One thread at a time.
  class Use {
   public:
    ~Use() { leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // None while there is none for it: all are busy, since texts whose readers are behind keep
    // theirs while others are written. The first that is free becomes its.
    std::optional<uint32_t> slot() const;
    // A text begins: in the slot that was taken, else in the free one whose text it goes on with,
    // else in the free one that was used longest ago.
    void begin(std::vector<int32_t> prompt, const service::Request& request, bool stream);
    // What was read of it: a token, if it is none below 0, and what came with it, or how far its
    // prompt is evaluated.
    void note(const service::Event& event);
    void end(const service::Reply& reply);
    // The slot is free. Idempotent.
    void leave();

    // Of a slot that was taken and in which no text begins: its tokens, how many of them are the
    // text of another slot too, and new ones; `forget`: as if it was never used.
    std::vector<int32_t> tokens() const;
    uint32_t n_shared() const;
    void replace(std::vector<int32_t> tokens, bool forget);

   private:
    friend class SlotTable;
    Use(std::shared_ptr<SlotTable> table, std::optional<uint32_t> wanted,
        std::function<void()> granted)
        : table_(std::move(table)), wanted_(wanted), granted_(std::move(granted)) {}

    const std::shared_ptr<SlotTable> table_;
    const std::optional<uint32_t> wanted_;
    // Guarded by the table's mutex:
    std::function<void()> granted_;
    std::optional<uint32_t> slot_;
    std::optional<Text> text_;
    bool left_ = false;
  };

  explicit SlotTable(uint32_t n_slots) : slots_(n_slots) {}

  uint32_t n_slots() const { return static_cast<uint32_t>(slots_.size()); }
  // For a text that takes what slot there is when it begins.
  std::shared_ptr<Use> any();
  // Takes this one, now or when those before it have left it; `granted` is called then, here or on
  // the thread of who leaves it, once; it does not block, and may still come when the use is gone.
  std::shared_ptr<Use> take(uint32_t slot, std::function<void()> granted);
  // Null: it is busy.
  std::shared_ptr<Use> try_take(uint32_t slot);
  std::vector<Look> look() const;

 private:
  struct Slot {
    Use* user = nullptr;  // null: it is free
    Text text;            // that has ended
    uint64_t used = 0;    // the greater the later
  };

  std::shared_ptr<Use> add(std::optional<uint32_t> wanted, std::function<void()> granted);
  // With the mutex locked:
  std::optional<uint32_t> free_slot(std::span<const int32_t> prompt) const;
  void give(uint32_t slot, Use& use);

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::list<Use*> waiting_;  // for one of their own, or having begun for any
  uint64_t clock_ = 0, n_tasks_ = 0;
};

}  // namespace puna::api
