// A page's threads are all in the pool.
#include "base/beside.h"

namespace puna::base {

struct Beside::State {};

Beside::Beside(const std::function<void()>& work) { work(); }
Beside::~Beside() = default;
void Beside::wait() {}

}  // namespace puna::base
