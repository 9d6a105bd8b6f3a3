#include "page_source.h"

#include <emscripten/emscripten.h>
#include <emscripten/threading.h>
#include <fmt/format.h>

#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "io/range.h"

// page.js
extern "C" {
// Null, or why it failed, to be freed.
char* puna_page_read_now(uint32_t part, double offset, void* out, size_t n);
// Answers puna_page_read_done; the bytes are then taken with puna_page_take.
void puna_page_read(uint32_t request, uint32_t part, double offset, size_t n);
void puna_page_take(uint32_t request, void* out, size_t n);
}

namespace puna::page {
namespace {

using base::ErrorCode;
using base::Result;

class PartSource;

struct Read {
  PartSource* source;
  std::span<std::byte> out;
  io::ReadDone done;
};

// Reads under way. Those of a source that has gone are dropped.
std::unordered_map<uint32_t, Read>& reads() {
  static auto& map = *new std::unordered_map<uint32_t, Read>();
  return map;
}
uint32_t g_last_read = 0;

class PartSource final : public io::ByteSource {
 public:
  PartSource(uint32_t index, std::string name, uint64_t size, bool at_once)
      : index_(index), name_(std::move(name)), size_(size), at_once_(at_once) {}
  ~PartSource() override {
    std::erase_if(reads(), [this](const auto& read) { return read.second.source == this; });
  }
  PartSource(const PartSource&) = delete;
  PartSource& operator=(const PartSource&) = delete;

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  // The page's objects belong to the thread of the engine.
  bool reads_at_once() const override {
    return at_once_ && emscripten_has_threading_support() == 0;
  }

  void read(uint64_t offset, std::span<std::byte> out, io::ReadDone done) override {
    Result<void> in_range = io::check_range(*this, offset, out.size());
    if (!in_range || out.empty()) return done(std::move(in_range));
    if (at_once_) {
      return done(
          result(puna_page_read_now(index_, static_cast<double>(offset), out.data(), out.size())));
    }
    reads()[++g_last_read] = {this, out, std::move(done)};
    puna_page_read(g_last_read, index_, static_cast<double>(offset), out.size());
  }

  // Takes over `error`.
  Result<void> result(char* error) const {
    if (error == nullptr) return {};
    std::string text = fmt::format("Reading \"{}\" failed: {}", name_, error);
    std::free(error);
    return base::fail(ErrorCode::kIo, std::move(text));
  }

 private:
  uint32_t index_;
  std::string name_;
  uint64_t size_;
  bool at_once_;
};

}  // namespace

extern "C" EMSCRIPTEN_KEEPALIVE void puna_page_read_done(uint32_t request, char* error) {
  const auto found = reads().find(request);
  if (found == reads().end()) return std::free(error);
  const Read read = std::move(found->second);
  reads().erase(found);
  if (error == nullptr) puna_page_take(request, read.out.data(), read.out.size());
  read.done(read.source->result(error));
}

std::unique_ptr<io::ByteSource> part_source(uint32_t index, std::string name, uint64_t size,
                                            bool at_once) {
  return std::make_unique<PartSource>(index, std::move(name), size, at_once);
}

}  // namespace puna::page
