#include "service/stop_filter.h"

#include <algorithm>

namespace puna::service {

std::string StopFilter::push(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  size_t cut = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = stop.empty() ? std::string::npos : held_.find(stop);
    if (at >= cut) continue;
    cut = at;
    stop_text_ = stop;
  }
  if (cut != std::string::npos) {
    stopped_ = true;
    std::string shown = held_.substr(0, cut);
    held_.clear();
    return shown;
  }
  // Keep the longest end that begins a stop string.
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t n = std::min(stop.size() - (stop.empty() ? 0 : 1), held_.size()); n > keep; --n) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) keep = n;
    }
  }
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return shown;
}

std::string StopFilter::finish() { return std::exchange(held_, {}); }

}  // namespace puna::service
