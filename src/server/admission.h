// Which texts a model is given, and when: as many as it writes at once and a few that wait in it,
// so that those behind them can be taken from each client in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/model_source.h"
#include "server/fair_queue.h"

namespace puna::server {

class Admission {
 public:
  // The place of one text. Whoever drops it leaves it to the next.
  class Place {
   public:
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // A text whose reader is behind is set aside by its model, and counts to nobody's share.
    void set_behind(bool behind);

   private:
    friend class Admission;
    struct Line;
    Place(Admission& admission, Line& line, std::function<void()> granted)
        : admission_(admission), line_(line), granted_(std::move(granted)) {}

    Admission& admission_;
    Line& line_;
    std::function<void()> granted_;  // null once it was called
    bool inside_ = false;            // counts
    bool behind_ = false;
  };

  Admission();
  ~Admission();

  // `granted` is called once, here or on the thread of whoever leaves a place, when the model may
  // be given the text; never after the place was dropped. It does not block.
  std::shared_ptr<Place> ask(const api::ServedModel& model, const std::string& client,
                             std::function<void()> granted);

  // Texts that have no place yet, of all models.
  uint32_t n_waiting() const;

 private:
  void let_in(Place::Line& line, std::unique_lock<std::mutex> lock);

  mutable std::mutex mutex_;
  std::map<const service::Hosts*, std::unique_ptr<Place::Line>> lines_;
  uint32_t n_waiting_ = 0;
};

}  // namespace puna::server
