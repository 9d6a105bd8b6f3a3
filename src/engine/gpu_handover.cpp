#include "engine/gpu_handover.h"

#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"

namespace puna::engine {

using base::Result;
using base::Task;

Result<std::unique_ptr<GpuHandover>> GpuHandover::create(gpu::Device& device,
                                                         const plan::GpuProgram& program,
                                                         LinkEnds ends) {
  std::unique_ptr<GpuHandover> out(new GpuHandover(device, program));
  PUNA_TRY(out->from_, out->share(std::move(ends.from)));
  PUNA_TRY(out->to_, out->share(std::move(ends.to)));
  if (program.plan().outputs.empty()) return out;
  const uint64_t bytes =
      out->to_.buffer.value != 0 ? sizeof(RanWord) : program.plan().handed_bytes();
  for (gpu::BufferId& buffer : out->readbacks_) {
    PUNA_TRY(buffer, device.create_buffer(bytes, gpu::BufferUse::kReadback, "handed over"));
  }
  return out;
}

GpuHandover::~GpuHandover() {
  for (const gpu::BufferId buffer : {from_.buffer, to_.buffer, readbacks_[0], readbacks_[1]}) {
    if (buffer.value != 0) device_.destroy_buffer(buffer);
  }
}

// Where a driver refuses, values go by copies of the host as on a device that shares nothing.
Result<GpuHandover::Shared> GpuHandover::share(std::shared_ptr<gpu::HostMemory> memory) {
  Shared out;
  if (!memory || !device_.info().shares_memory) return out;
  auto buffer = device_.share(memory, "handed");
  if (!buffer) {
    if (buffer.error().code == base::ErrorCode::kDeviceLost)
      return std::unexpected(std::move(buffer.error()));
    base::log_debug("What is handed over goes by copies of the host: {}", buffer.error().text());
    return out;
  }
  out.memory = std::move(memory);
  out.buffer = *buffer;
  return out;
}

std::optional<uint64_t> GpuHandover::Shared::offset_of(std::span<const float> values) const {
  if (buffer.value == 0 || values.empty()) return std::nullopt;
  const std::span<const std::byte> all = memory->bytes(), part = std::as_bytes(values);
  const std::less_equal<const std::byte*> before;
  if (!before(all.data(), part.data()) ||
      !before(part.data() + part.size(), all.data() + all.size()))
    return std::nullopt;
  return static_cast<uint64_t>(part.data() - all.data());
}

bool GpuHandover::take(std::span<const float> values, uint32_t n_rows,
                       gpu::CommandList& list) const {
  const std::optional<uint64_t> at = from_.offset_of(values);
  if (!at) return false;
  const uint64_t n =
      scatter(from_.buffer, *at, ranges_of(program_, program_.plan().inputs, n_rows), list);
  PUNA_CHECK(n == values.size_bytes());
  return true;
}

Task<Result<void>> GpuHandover::give(std::span<float> out, uint32_t n_rows,
                                     gpu::CommandList& list) {
  const std::optional<uint64_t> shared = to_.offset_of(out);
  PUNA_CHECK(shared || to_.buffer.value == 0);
  std::swap(readbacks_[0], readbacks_[1]);
  const gpu::BufferId readback = readbacks_[0];
  const std::vector<GpuRange> ranges = ranges_of(program_, program_.plan().outputs, n_rows);
  const uint64_t n = gather(ranges, shared ? to_.buffer : readback, shared.value_or(0), list);
  PUNA_CHECK(n == out.size_bytes());
  if (shared) list.copy(ranges.front().buffer, ranges.front().offset, readback, 0, sizeof(RanWord));
  PUNA_CO_TRY(n_giving_ == 0 ? device_.submit_early(list) : device_.submit(list));
  RanWord ran;
  ++n_giving_;
  const auto done = co_await read_back(
      device_, readback,
      shared ? std::as_writable_bytes(std::span(ran)) : std::as_writable_bytes(out));
  --n_giving_;
  co_return done;
}

}  // namespace puna::engine
