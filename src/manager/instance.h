// Instance: a model that is loaded and answers requests. Loader: where instances come from. This is
// the seam between the manager and where models run: children.h starts a process for each, in which
// in_process.h has it. Read next: manager.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/model_source.h"
#include "base/result.h"
#include "manager/registry.h"

namespace puna::manager {

// A model that may be loaded.
struct Entry {
  std::string id{};
  std::vector<std::string> aliases{};  // that it answers to, sorted; `id` is one of them
  std::vector<std::string> tags{};
  std::string path{};  // of its file or folder
  std::string
      stored_as{};  // its name in the store, with what is kept beside it; empty: it has none
  std::string file_name{};  // without folder and ending
  std::string digest{};     // SHA-256 as hex digits; empty: not known
  std::string source{};     // who keeps it: "puna", "ollama", "preset", ...
  std::string preset{};     // what is set for it alone, as lines
  int64_t created = 0;      // seconds since 1970
  bool load_at_start = false;

  bool answers_to(std::string_view name) const;
  // What it is served as, but for what only its instance knows.
  api::ServedModel served() const;
  // Whether it would be loaded from the same file in the same way.
  bool same_model(const Entry& other) const {
    return path == other.path && digest == other.digest && preset == other.preset;
  }
};

// What an instance has left behind that was put to sleep: what is known of texts.
class Memories {
 public:
  virtual ~Memories() = default;
  virtual uint64_t bytes() const = 0;
};

class Instance {
 public:
  virtual ~Instance() = default;  // waits for its end, and frees its memory

  virtual const api::ServedModel& served() const = 0;
  virtual Footprint held() const = 0;
  // For Loader::load(), when nobody uses it any more; null: there is nothing to keep.
  virtual std::unique_ptr<Memories> remember() { return nullptr; }
  // Ends what is under way; nothing is answered afterwards.
  virtual void stop() = 0;
  // `told` is called once if it ends by itself: on any thread, or from within where it has ended
  // before.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those that override it keep it.
  virtual void when_died(std::function<void(const base::Error& error)> /*told*/) {}
};

// What measuring a model has left for its load: its file, read as far as its weights, and the
// process that has done so.
class Opened {
 public:
  virtual ~Opened() = default;
  virtual Footprint held() const { return {}; }
};

class Loader {
 public:
  virtual ~Loader() = default;
  // Whether its models run in other processes.
  virtual bool is_remote() const { return false; }

  struct Measured {
    Footprint need{};
    std::unique_ptr<Opened> opened{};  // null: nothing is left
  };
  struct Order {
    bool step_down = false;  // as registry.h has it
    const std::atomic<bool>* cancel = nullptr;
    std::unique_ptr<Memories> memories{};  // of when it was put to sleep; null: none
    std::unique_ptr<Opened> opened{};      // of when it was measured; null: none
  };

  // Both on one thread, one after the other, which they keep for as long as they take.
  // What it would take. Errors: those of reading its file; kCancelled.
  virtual base::Result<Measured> measure(const Entry& entry, const std::atomic<bool>& cancel) = 0;
  // Errors: those of loading; kOutOfMemory where memory was refused; kCancelled.
  virtual base::Result<std::unique_ptr<Instance>> load(const Entry& entry, Order order) = 0;
};

}  // namespace puna::manager
