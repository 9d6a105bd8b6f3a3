#include "server/admission.h"

#include <utility>
#include <vector>

namespace puna::server {

struct Admission::Place::Line {
  const service::Hosts* hosts = nullptr;
  uint32_t room = 1;
  uint32_t n_inside = 0;
  uint32_t n_places = 0;
  FairQueue<std::weak_ptr<Place>> queue;
};

Admission::Admission() = default;
Admission::~Admission() = default;

Admission::Place::~Place() {
  std::unique_lock lock(admission_.mutex_);
  if (inside_) --line_.n_inside;
  if (granted_) --admission_.n_waiting_;
  if (--line_.n_places == 0) {
    admission_.lines_.erase(line_.hosts);
    return;
  }
  admission_.let_in(line_, std::move(lock));
}

void Admission::Place::set_behind(bool behind) {
  std::unique_lock lock(admission_.mutex_);
  if (granted_ || std::exchange(behind_, behind) == behind) return;
  // One that goes on has its place back at once: its model has it already.
  inside_ = !behind;
  line_.n_inside += inside_ ? 1 : -1;
  admission_.let_in(line_, std::move(lock));
}

std::shared_ptr<Admission::Place> Admission::ask(const api::ServedModel& model,
                                                 const std::string& client,
                                                 std::function<void()> granted) {
  std::unique_lock lock(mutex_);
  auto& line = lines_[model.hosts.get()];
  if (!line) {
    line = std::make_unique<Place::Line>();
    line->hosts = model.hosts.get();
    // A quarter more waits in the model, so that a text that ends is followed without a pause.
    line->room = model.n_texts + model.n_texts / 4 + 1;
  }
  ++line->n_places;
  ++n_waiting_;
  std::shared_ptr<Place> place(new Place(*this, *line, std::move(granted)));
  line->queue.push(client, place);
  let_in(*line, std::move(lock));
  return place;
}

uint32_t Admission::n_waiting() const {
  const std::lock_guard lock(mutex_);
  return n_waiting_;
}

void Admission::let_in(Place::Line& line, std::unique_lock<std::mutex> lock) {
  std::vector<std::function<void()>> granted;
  // Dropped without the lock, which their destructors take.
  std::vector<std::shared_ptr<Place>> places;
  while (line.n_inside < line.room) {
    const auto next = line.queue.pop();
    if (!next) break;
    auto place = next->lock();
    if (!place) continue;
    ++line.n_inside;
    place->inside_ = true;
    --n_waiting_;
    granted.push_back(std::exchange(place->granted_, nullptr));
    places.push_back(std::move(place));
  }
  lock.unlock();
  for (const auto& call : granted) call();
}

}  // namespace puna::server
