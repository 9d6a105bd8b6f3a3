// Work beside that of its starter: in a thread of its own, or done at once where there are no
// threads to spare.
#pragma once

#include <functional>
#include <memory>

namespace puna::base {

class Beside {
 public:
  // `work` must not throw; what it refers to stays until the end of this.
  explicit Beside(const std::function<void()>& work);
  ~Beside();  // waits
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  // Returns when the work is done: what it wrote may be read then.
  void wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace puna::base
