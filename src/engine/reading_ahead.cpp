#include "engine/reading_ahead.h"

#include <algorithm>
#include <utility>

namespace puna::engine {
namespace {

// Asked for at a time; asking for more in one call keeps others from the file meanwhile.
constexpr uint64_t kStepBytes = 2 << 20;

uint64_t bytes_of(const plan::WeightSpec& weight) {
  return weight.rows * quant::row_bytes(weight.type, weight.columns);
}

}  // namespace

ReadingAhead::ReadingAhead(const formats::ModelFile& file,
                           std::vector<const plan::WeightSpec*> weights, uint64_t most)
    : file_(file), weights_(std::move(weights)), most_(most) {
  std::erase_if(weights_, [](const plan::WeightSpec* w) { return bytes_of(*w) == 0; });
  if (weights_.empty()) return;
  const formats::Tensor& first = file_.tensors[weights_.front()->tensors.front()];
  if (file_.sources[first.source]->fetch(first.offset, std::min(first.bytes, kStepBytes)))
    asking_ = std::make_unique<base::Beside>([this] { ask_for_all(); });
}

ReadingAhead::~ReadingAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
}

void ReadingAhead::add_read(uint64_t bytes) {
  if (!asking_) return;
  {
    const std::lock_guard lock(mutex_);
    read_ += bytes;
  }
  changed_.notify_one();
}

void ReadingAhead::ask_for_all() {
  uint64_t first_byte = 0;
  for (const plan::WeightSpec* weight : weights_) {
    if (!ask_for(*weight, first_byte)) return;
    first_byte += bytes_of(*weight);
  }
}

// A weight may be a part of its tensors: then its whole length is waited for at most.
bool ReadingAhead::ask_for(const plan::WeightSpec& weight, uint64_t first_byte) {
  uint64_t asked = 0;
  for (const uint32_t position : weight.tensors) {
    const formats::Tensor& tensor = file_.tensors[position];
    for (uint64_t at = 0; at < tensor.bytes; at += kStepBytes) {
      if (!wait_for_turn(first_byte + std::min(asked, bytes_of(weight)))) return false;
      const uint64_t bytes = std::min(kStepBytes, tensor.bytes - at);
      if (!file_.sources[tensor.source]->fetch(tensor.offset + at, bytes)) return false;
      asked += bytes;
    }
  }
  return true;
}

bool ReadingAhead::wait_for_turn(uint64_t byte) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_over_ || byte < read_ + most_; });
  return !is_over_;
}

}  // namespace puna::engine
