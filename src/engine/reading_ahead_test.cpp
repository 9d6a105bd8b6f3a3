#include "engine/reading_ahead.h"

#include <doctest/doctest.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace puna::engine {
namespace {

// Keeps what is asked for; what is read does not matter.
class Asked final : public io::ByteSource {
 public:
  explicit Asked(bool fetches) : fetches_(fetches) {}
  uint64_t size() const override { return 1 << 30; }
  const std::string& name() const override { return name_; }
  void read(uint64_t, std::span<std::byte>, io::ReadDone done) override { done({}); }
  bool fetch(uint64_t offset, uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (fetches_) ranges_.emplace_back(offset, bytes);
    changed_.notify_all();
    return fetches_;
  }
  // Waits for `n` ranges, and a little for one more than that, which must not come.
  std::vector<std::pair<uint64_t, uint64_t>> first(size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return ranges_.size() >= n; });
    changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return ranges_.size() > n; });
    return ranges_;
  }

 private:
  bool fetches_;
  std::string name_ = "asked";
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
};

constexpr uint64_t kMiB = 1 << 20;

// Tensors of f32 rows of 1 KiB, `mib` each, one behind the other from 4096 on; weight i is tensor
// i.
struct Model {
  formats::ModelFile file;
  Asked* source = nullptr;
  std::vector<plan::WeightSpec> weights;

  Model(std::vector<uint32_t> mib, bool fetches = true) {
    auto owned = std::make_unique<Asked>(fetches);
    source = owned.get();
    file.sources.push_back(std::move(owned));
    uint64_t offset = 4096;
    for (uint32_t i = 0; i < mib.size(); ++i) {
      formats::Tensor tensor;
      tensor.bytes = mib[i] * kMiB;
      tensor.offset = offset;
      offset += tensor.bytes;
      file.tensors.push_back(tensor);
      plan::WeightSpec weight;
      weight.tensors = {i};
      weight.rows = mib[i] << 10;
      weight.columns = 256;
      weight.type = quant::Type::kF32;
      weights.push_back(weight);
    }
  }
  std::vector<const plan::WeightSpec*> in_order() const {
    std::vector<const plan::WeightSpec*> order;
    for (const plan::WeightSpec& weight : weights) order.push_back(&weight);
    return order;
  }
};

TEST_CASE("weights are asked for in their order, as far ahead as allowed, then as they are read") {
  const Model model({3, 4, 5});
  ReadingAhead ahead(model.file, model.in_order(), 5 * kMiB);
  // The first range is asked for twice: once to see whether anything comes of it.
  const std::vector<std::pair<uint64_t, uint64_t>> expected = {
      {4096, 2 * kMiB},
      {4096, 2 * kMiB},
      {4096 + 2 * kMiB, kMiB},
      {4096 + 3 * kMiB, 2 * kMiB},  // from the third MiB on; the next is the fifth
  };
  CHECK(model.source->first(4) == expected);
  ahead.add_read(kMiB);
  CHECK(model.source->first(5).back() == std::pair(4096 + 5 * kMiB, 2 * kMiB));
  ahead.add_read(11 * kMiB);
  CHECK(model.source->first(8).back() == std::pair(4096 + 11 * kMiB, kMiB));
}

TEST_CASE("a load that ends early asks no more, and a part of a tensor does not hold others up") {
  Model model({6, 2});
  model.weights[0].rows = 1 << 10;  // one MiB of six
  {
    ReadingAhead ahead(model.file, model.in_order(), 2 * kMiB);
    ahead.add_read(kMiB);
    CHECK(model.source->first(5).back() == std::pair(4096 + 6 * kMiB, 2 * kMiB));
  }
  Model other({6});
  {
    const ReadingAhead ahead(other.file, other.in_order(), 1);
  }
  CHECK(other.source->first(0).size() <= 2);  // its thread has ended
}

TEST_CASE("nothing is asked of a source that has nothing to fetch, nor for no weights") {
  const Model model({1}, /*fetches=*/false);
  ReadingAhead ahead(model.file, model.in_order());
  ahead.add_read(kMiB);
  CHECK(model.source->first(0).empty());
  const ReadingAhead none(model.file, {});
}

}  // namespace
}  // namespace puna::engine
