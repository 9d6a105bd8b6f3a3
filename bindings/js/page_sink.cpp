#include "page_sink.h"

#include <fmt/format.h>

#include <cstdlib>

// page.js
extern "C" {
// Null, or why it failed, to be freed.
char* puna_page_write(uint32_t file, const void* bytes, size_t n);
}

namespace puna::page {
namespace {

using base::ErrorCode;
using base::Result;

class PageSink final : public io::ByteSink {
 public:
  PageSink(uint32_t index, const std::atomic<bool>& cancel) : index_(index), cancel_(cancel) {}

  Result<void> write(std::span<const std::byte> bytes) override {
    if (cancel_.load()) return base::fail(ErrorCode::kCancelled, "The engine has other work.");
    char* error = puna_page_write(index_, bytes.data(), bytes.size());
    if (error == nullptr) return {};
    std::string text = fmt::format("Writing a file fails: {}", error);
    std::free(error);
    return base::fail(ErrorCode::kIo, std::move(text));
  }
  // The page makes the file final.
  Result<void> finish() override { return {}; }

 private:
  uint32_t index_;
  const std::atomic<bool>& cancel_;
};

}  // namespace

std::unique_ptr<io::ByteSink> page_sink(uint32_t index, const std::atomic<bool>& cancel) {
  return std::make_unique<PageSink>(index, cancel);
}

}  // namespace puna::page
