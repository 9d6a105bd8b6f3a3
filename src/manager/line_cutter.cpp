#include "manager/line_cutter.h"

#include <algorithm>
#include <utility>

namespace puna::manager {

void LineCutter::put(std::string_view piece, Clock::time_point now,
                     const std::function<void(std::string_view line)>& told,
                     const std::function<void(uint64_t n)>& dropped) {
  if (now - begun_ >= limits_.second) {
    begun_ = now;
    n_told_ = 0;
    if (n_dropped_ > 0) dropped(std::exchange(n_dropped_, 0));
  }
  while (!piece.empty()) {
    const size_t end = std::min(piece.find('\n'), piece.size());
    line_ += piece.substr(0, std::min(end, limits_.most_bytes - line_.size()));
    if (end == piece.size()) return;
    piece.remove_prefix(end + 1);
    if (limits_.most_lines > 0 && n_told_ >= limits_.most_lines) {
      ++n_dropped_;
    } else {
      ++n_told_;
      told(line_);
    }
    line_.clear();
  }
}

}  // namespace puna::manager
