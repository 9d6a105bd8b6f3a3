// A device that computes right passes, one that does not is told.
#include <doctest/doctest.h>

#include "engine/device_check.h"
#include "engine/testing/forwarding_device.h"

using namespace puna;
using engine::test::open_gpu;

namespace {

// Reads back other bits than were computed, now and then.
class WrongDevice : public engine::test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  void read_back(gpu::BufferId buffer, uint64_t offset, std::span<std::byte> out,
                 gpu::ReadDone done) override {
    ForwardingDevice::read_back(buffer, offset, out,
                                [out, done = std::move(done)](base::Result<void> result) {
                                  for (size_t i = 0; i + 1 < out.size(); i += 64) out[i + 3] = {};
                                  done(std::move(result));
                                });
  }
};

base::Result<void> check(gpu::Device& device, kernels::Numerics numerics) {
  return base::run_until(engine::check_device(device, numerics), [&] { device.poll(); });
}

}  // namespace

TEST_CASE("a device that computes right passes its check") {
  for (const bool baseline : {false, true}) {
    const auto device = open_gpu(baseline);
    if (!device) return;
    for (const auto numerics : {kernels::Numerics::kExact, kernels::Numerics::kFast}) {
      const auto checked = check(*device, numerics);
      CHECK_MESSAGE(checked.has_value(), checked.error().text());
    }
  }
}

TEST_CASE("a device that computes wrong numbers is told by its check") {
  auto real = open_gpu();
  if (!real) return;
  WrongDevice device(std::move(real));
  const auto checked = check(device, kernels::Numerics::kFast);
  REQUIRE(!checked.has_value());
  CHECK(checked.error().code == base::ErrorCode::kDevice);
  CHECK(checked.error().text().find("wrong numbers") != std::string::npos);
}
