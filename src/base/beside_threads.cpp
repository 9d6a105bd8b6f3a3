#include <thread>

#include "base/beside.h"

namespace puna::base {

struct Beside::State {
  std::thread thread;
};

Beside::Beside(const std::function<void()>& work)
    : state_(std::make_unique<State>(State{std::thread(work)})) {}

Beside::~Beside() { wait(); }

void Beside::wait() {
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace puna::base
