// Has the system fetch what a load is about to read: beside it and in its order, so that the disk
// is never without work while the load's one thread compiles, copies or waits for a GPU.
// docs/decisions/loading.md has what it gains, and why loads onto the CPU have none.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/beside.h"
#include "formats/model_file.h"
#include "plan/graph.h"

namespace puna::engine {

class ReadingAhead {
 public:
  // Fetched at most beyond what was read: what a disk of a few GB/s has in a tenth of a second, and
  // little beside any model that needs it.
  static constexpr uint64_t kMostBytes = 256 << 20;

  // `weights` as they will be read, both they and `file` outliving this. Does nothing where the
  // first tensor's source has nothing to fetch (memory, a page). No more than `most` bytes ahead.
  ReadingAhead(const formats::ModelFile& file, std::vector<const plan::WeightSpec*> weights,
               uint64_t most = kMostBytes);
  ~ReadingAhead();  // asks no more

  // So many more bytes of the weights have been read. By any thread.
  void add_read(uint64_t bytes);

 private:
  void ask_for_all();
  bool ask_for(const plan::WeightSpec& weight, uint64_t first_byte);
  bool wait_for_turn(uint64_t byte);  // false: asks no more

  const formats::ModelFile& file_;
  std::vector<const plan::WeightSpec*> weights_;
  uint64_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t read_ = 0;
  bool is_over_ = false;
  std::unique_ptr<base::Beside> asking_;
};

}  // namespace puna::engine
