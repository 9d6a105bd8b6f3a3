// Memory that CPU kernels work in, for checks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

namespace puna::kernels {

// 64-byte aligned scratch, as the kernels ask for.
class CheckScratch {
 public:
  explicit CheckScratch(uint64_t bytes)
      : memory_(static_cast<std::byte*>(::operator new(
            std::max(static_cast<size_t>(bytes), size_t{1}), std::align_val_t{64}))) {}
  ~CheckScratch() { ::operator delete(memory_, std::align_val_t{64}); }
  CheckScratch(const CheckScratch&) = delete;
  CheckScratch& operator=(const CheckScratch&) = delete;
  std::byte* data() const { return memory_; }

 private:
  std::byte* memory_;
};

}  // namespace puna::kernels
