// StopFilter: holds back the end of a text as long as it may still become a stop string.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace puna::service {

class StopFilter {
 public:
  explicit StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // What may be shown now; sets stopped() when a stop string has been completed.
  std::string push(std::string_view text);
  // What is left at the end.
  std::string finish();
  bool stopped() const { return stopped_; }
  // Which one it was: of those that begin first the first in the list. Empty before.
  const std::string& stop_text() const { return stop_text_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  std::string stop_text_;
  bool stopped_ = false;
};

}  // namespace puna::service
