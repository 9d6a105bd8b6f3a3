#include <system_error>
#include <thread>

#include "base/beside.h"

namespace puna::base {

struct Beside::State {
  std::thread thread;
};

Beside::Beside(const std::function<void()>& work) : state_(std::make_unique<State>()) {
  try {
    state_->thread = std::thread(work);
  } catch (const std::system_error&) {  // the system gives no more threads
    work();
  }
}

Beside::~Beside() { wait(); }

void Beside::wait() {
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace puna::base
