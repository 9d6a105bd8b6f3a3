// Two devices, linked: one waits for what the other gives, and not for ever.
#include <doctest/doctest.h>

#include <numeric>

#include "engine/gpu_link.h"
#include "engine/gpu_ranges.h"
#include "engine/testing/forwarding_device.h"

using namespace puna;
using engine::GpuLink;

namespace {

constexpr size_t kWords = 1000;
constexpr uint64_t kBytes = kWords * sizeof(uint32_t);

template <class T>
T must(base::Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// A device with its place in a ring of two.
struct Linked {
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<GpuLink> link;
  gpu::BufferId values, readback;

  Linked(std::unique_ptr<gpu::Device> opened, engine::LinkEnds ends) : device(std::move(opened)) {
    link = must(
        base::run_until(GpuLink::create(*device, std::move(ends)), [this] { device->poll(); }));
    values = must(device->create_buffer(kBytes, gpu::BufferUse::kStorage, "values"));
    readback = must(device->create_buffer(kBytes, gpu::BufferUse::kReadback, "read-back"));
  }
  ~Linked() {
    device->destroy_buffer(values);
    device->destroy_buffer(readback);
  }

  engine::GpuRange all() const { return {values, 0, kBytes}; }
  void write(std::span<const uint32_t> words) {
    must(device->write_buffer(values, 0, std::as_bytes(words)));
  }
  gpu::CommandList step(GpuLink::Takes takes = GpuLink::Takes::kOfThis) {
    must(link->begin_step(takes));
    return {};
  }
  std::vector<uint32_t> read(engine::GpuRange range) {
    gpu::CommandList list;
    list.copy(range.buffer, range.offset, readback, 0, range.bytes);
    must(device->submit(list));
    std::vector<uint32_t> out(range.bytes / sizeof(uint32_t));
    must(base::run_until(
        engine::read_back(*device, readback, std::as_writable_bytes(std::span(out))),
        [this] { device->poll(); }));
    return out;
  }
};

struct Ring {
  std::unique_ptr<Linked> giver, taker;

  // False, said loudly, where devices share no memory.
  bool open() {
    auto devices = engine::test::open_two_sharing();
    if (devices.empty()) return false;
    const auto there = must(gpu::HostMemory::allocate(kernels::kLinkDataOffset + kBytes));
    const auto back = must(gpu::HostMemory::allocate(kernels::kLinkDataOffset + kBytes));
    giver = std::make_unique<Linked>(std::move(devices[0]), engine::LinkEnds{back, there});
    taker = std::make_unique<Linked>(std::move(devices[1]), engine::LinkEnds{there, back});
    return true;
  }
};

std::vector<uint32_t> counted(uint32_t first) {
  std::vector<uint32_t> out(kWords);
  std::iota(out.begin(), out.end(), first);
  return out;
}

void give(Linked& giver, uint32_t first) {
  giver.write(counted(first));
  gpu::CommandList list = giver.step();
  giver.link->give(std::vector{giver.all()}, list);
  must(giver.device->submit(list));
}
void take(Linked& taker) {
  gpu::CommandList list = taker.step();
  taker.link->take(std::vector{taker.all()}, list);
  must(taker.device->submit(list));
}

}  // namespace

TEST_CASE("a linked GPU waits for what another one gives, whichever is asked first") {
  Ring ring;
  if (!ring.open()) return;
  for (uint32_t step = 1; step <= 6; ++step) {
    CAPTURE(step);
    if (step % 2 == 0) take(*ring.taker);
    give(*ring.giver, 7 * step);
    if (step % 2 == 1) take(*ring.taker);
    CHECK(ring.taker->read(ring.taker->all()) == counted(7 * step));
    CHECK(ring.taker->read(ring.taker->link->failed()) == std::vector<uint32_t>{0});
  }
}

TEST_CASE("what a linked GPU takes may be of the step before its own") {
  Ring ring;
  if (!ring.open()) return;
  gpu::CommandList list = ring.taker->step(GpuLink::Takes::kOfThis);  // takes nothing
  give(*ring.giver, 5);
  list = ring.taker->step(GpuLink::Takes::kOfBefore);
  ring.taker->link->take(std::vector{ring.taker->all()}, list);
  must(ring.taker->device->submit(list));
  CHECK(ring.taker->read(ring.taker->all()) == counted(5));
  CHECK(ring.taker->read(ring.taker->link->failed()) == std::vector<uint32_t>{0});
}

TEST_CASE("a linked GPU that waits in vain says so, and the next one does not wait as long") {
  Ring ring;
  if (!ring.open()) return;
  // Nothing is given.
  take(*ring.taker);
  CHECK(ring.taker->read(ring.taker->link->failed()) == std::vector<uint32_t>{1});
  // It hands that on, here back to the giver, which takes its own step from it.
  gpu::CommandList list;
  ring.taker->link->give(std::vector{ring.taker->all()}, list);
  must(ring.taker->device->submit(list));
  take(*ring.giver);
  CHECK(ring.giver->read(ring.giver->link->failed()) == std::vector<uint32_t>{1});
  // The next step is one of its own.
  give(*ring.giver, 3);
  take(*ring.taker);
  CHECK(ring.taker->read(ring.taker->all()) == counted(3));
  CHECK(ring.taker->read(ring.taker->link->failed()) == std::vector<uint32_t>{0});
}
