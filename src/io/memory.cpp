// Sources over memory, the co_await form of read, and the source that fails on purpose.
#include <cstring>
#include <utility>
#include <vector>

#include "io/byte_source.h"
#include "io/range.h"

namespace puna::io {

namespace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<std::byte> owned)
      : name_(std::move(name)), owned_(std::move(owned)), bytes_(owned_) {}
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), bytes_(bytes) {}

  uint64_t size() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }
  bool reads_at_once() const override { return true; }
  std::span<const std::byte> mapped() const override { return bytes_; }

  void read(uint64_t offset, std::span<std::byte> out, ReadDone done) override {
    base::Result<void> in_range = check_range(*this, offset, out.size());
    if (in_range && !out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    done(std::move(in_range));
  }

 private:
  std::string name_;
  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
};

class FailingSource final : public ByteSource {
 public:
  FailingSource(std::unique_ptr<ByteSource> inner, int fail_at)
      : inner_(std::move(inner)), remaining_(fail_at) {}

  uint64_t size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }

  void read(uint64_t offset, std::span<std::byte> out, ReadDone done) override {
    if (remaining_-- == 0) {
      done(
          base::fail(base::ErrorCode::kIo,
                     fmt::format("Reading \"{}\" at offset {} fails on purpose.", name(), offset)));
    } else {
      inner_->read(offset, out, std::move(done));
    }
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  int remaining_;
};

}  // namespace

base::Task<base::Result<void>> read(ByteSource& source, uint64_t offset, std::span<std::byte> out) {
  auto start = [&](ReadDone done) { source.read(offset, out, std::move(done)); };
  co_return co_await base::await_callback<base::Result<void>>(start);
}

std::unique_ptr<ByteSource> from_memory(std::string name, std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(std::move(name), bytes);
}

std::unique_ptr<ByteSource> from_memory(std::string name, std::vector<std::byte> bytes) {
  return std::make_unique<MemorySource>(std::move(name), std::move(bytes));
}

std::unique_ptr<ByteSource> failing(std::unique_ptr<ByteSource> inner, int fail_at) {
  return std::make_unique<FailingSource>(std::move(inner), fail_at);
}

}  // namespace puna::io
