#include "io/byte_sink.h"

namespace puna::io {

namespace {

class MemorySink final : public ByteSink {
 public:
  explicit MemorySink(std::vector<std::byte>& out) : out_(out) {}
  base::Result<void> write(std::span<const std::byte> bytes) override {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return {};
  }
  base::Result<void> finish() override { return {}; }

 private:
  std::vector<std::byte>& out_;
};

}  // namespace

std::unique_ptr<ByteSink> to_memory(std::vector<std::byte>& out) {
  return std::make_unique<MemorySink>(out);
}

}  // namespace puna::io
