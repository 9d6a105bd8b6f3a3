// A Device without a GPU: keeps buffers in memory, checks every rule of device.h strictly, records
// what is submitted, runs nothing. Tests use it to see plans; its failing mode injects errors.
#pragma once

#include <memory>

#include "gpu/device.h"

namespace puna::gpu::null {

struct Options {
  DeviceInfo info;              // what it claims to be; baseline by default
  int fail_at = -1;             // the n-th fallible call (from 0) fails with kOutOfMemory
  int lose_at = -1;             // the n-th submit loses the device
  bool late_pipelines = false;  // they are ready at a later poll(), one each, as in a page
};

class NullDevice : public Device {
 public:
  // Everything submitted so far, in order.
  virtual const std::vector<Command>& submitted() const = 0;
  virtual const PipelineDesc& pipeline(PipelineId id) const = 0;
  virtual uint64_t allocated_bytes() const = 0;
};

std::unique_ptr<NullDevice> create(Options options = {});

}  // namespace puna::gpu::null
