// How work on one device waits for work on another without the host: by memory that both see
// (gpu::Device::share). A channel there leads one way:
//   lines  [kLinkLines, kLinkLineWords]  u32, a stamp at the beginning of each
//   data   from kLinkDataOffset on       moved by copies of the command list
// The giver copies its data, then link_stamp() writes the number of its step into every line. The
// taker's link_wait() reads one line after the other until one has that number, then its data are
// copied. No line is read twice: caches of a device keep what a submit has read of the host's
// memory until its end, so a word that was read too early would never change. From one read to the
// next the wait grows by a fixed share, so that few lines last for long, and the time that is lost
// stays a small part of what was waited.
// The top bit of a stamp says that the step has failed, because what it was to wait for did not
// come while there were lines: the stages behind it need not wait as long again.
//   state  [kLinkStateWords]  u32, of one device, written by the host before each submit
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/call.h"

namespace puna::kernels {

constexpr uint32_t kLinkLines = 704;
// As many bytes as any GPU reads of memory at once.
constexpr uint32_t kLinkLineWords = 32;
constexpr uint64_t kLinkDataOffset = uint64_t{kLinkLines} * kLinkLineWords * sizeof(uint32_t);
// Numbers of steps are taken modulo this.
constexpr uint32_t kLinkNumbers = 1u << 31;

constexpr uint32_t kLinkGiven = 0;   // the number of the step
constexpr uint32_t kLinkTaken = 1;   // of the step that what it waits for is of
constexpr uint32_t kLinkFailed = 2;  // 1: that has not come
constexpr uint32_t kLinkIdle = 3;    // 0; read to pass time
constexpr uint32_t kLinkStateWords = 4;

struct LinkArgs {
  std::string label;
  Slice lines = {}, state = {};
};
// Neither has errors to tell. On a GPU, waits end after about a second.
void link_wait(const gpu::DeviceInfo& device, const LinkArgs& args, std::vector<KernelCall>& out);
void link_stamp(const LinkArgs& args, std::vector<KernelCall>& out);

}  // namespace puna::kernels
