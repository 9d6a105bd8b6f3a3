#include "kernels/link/link.h"

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 64;  // lines that one stamps
static_assert(kLinkLines % kWorkgroup == 0);

// A wait grows by one in so many. With a read of a GPU's cache at 0.2 to 0.5 us, all lines last for
// 0.7 to 1.7 s, which is less than after what systems reset a display's GPU; a program's reads are
// a hundred times as fast, so its waits grow faster.
constexpr uint32_t kGrowth = 70, kGrowthInSoftware = 44;

Describe describe(const LinkArgs& args, const char* what, std::string_view kernel) {
  Describe call(args.label + what, kernel);
  call.arena("B_LINES", args.lines).arena("B_STATE", args.state);
  call.number("LINES", kLinkLines).number("LINE_WORDS", kLinkLineWords);
  call.number("GIVEN", kLinkGiven).number("TAKEN", kLinkTaken);
  call.number("FAILED", kLinkFailed).number("IDLE", kLinkIdle);
  return call;
}

}  // namespace

void link_wait(const gpu::DeviceInfo& device, const LinkArgs& args, std::vector<KernelCall>& out) {
  Describe call = describe(args, ".wait", "link/wait.wgsl");
  call.number("GROWTH", device.type == gpu::AdapterType::kSoftware ? kGrowthInSoftware : kGrowth);
  call.grid({});
  call.add_to(out);
}

void link_stamp(const LinkArgs& args, std::vector<KernelCall>& out) {
  Describe call = describe(args, ".stamp", "link/stamp.wgsl");
  call.number("WG", kWorkgroup).grid({Extent::kOne, kLinkLines / kWorkgroup});
  call.add_to(out);
}

}  // namespace puna::kernels
