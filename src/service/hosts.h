// The hosts of one model: one, or one on each of several devices, all with the same weights. Each
// text goes to the one where least is left to do for it (placing.h). All functions may be called
// from any thread. Read next: replicas.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "service/host.h"
#include "service/placing.h"

namespace puna::service {

class Hosts {
 public:
  explicit Hosts(Host& only) : Hosts(std::vector<Host*>{&only}) {}
  // At least one; they stay as long as this and its parts do.
  explicit Hosts(std::vector<Host*> all);
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  // For prepare(), and for reading what was fixed when it was loaded. The hosts differ in their
  // devices and in what they know of texts alone.
  const LoadedModel& model() const { return first().model(); }
  // Where encoders of pictures and sounds are.
  Host& first() const { return *all_.front(); }
  std::span<Host* const> all() const { return all_; }

  // A text among those of its host, until this is dropped.
  class Part {
   public:
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    Host& host() const { return *hosts_.all_[index_]; }
    // Whether its device is gone and that of another host is not.
    bool may_move() const;

   private:
    friend class Hosts;
    Part(Hosts& hosts, size_t index) : hosts_(hosts), index_(index) {}
    Hosts& hosts_;
    const size_t index_;
  };
  std::unique_ptr<Part> take(std::span<const int32_t> prompt);

  // The host that knows most of a text; of an empty one, that with the least to do.
  Host& nearest(std::span<const int32_t> text) const;
  // One of them, whose model this is, knows a text that it was not given.
  void note(const LoadedModel& model, std::span<const int32_t> text);

  // Of all together; the step that is under way is that of the first.
  HostStatus status() const;

 private:
  std::vector<Placing::Candidate> candidates() const;  // under the mutex

  const std::vector<Host*> all_;
  mutable std::mutex mutex_;
  Placing placing_;
  std::vector<uint32_t> n_texts_;  // by host
};

}  // namespace puna::service
