// Device: the waist between Puna and a WebGPU implementation. Buffers, pipelines from WGSL, a
// recorded command list, submit, asynchronous read-back. Implemented by native/ (webgpu.h), web/
// (the page's WebGPU) and null/ (records, checks). One thread, the engine thread, touches a Device;
// callbacks run on it, inside poll() or wait().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/host_memory.h"

namespace puna::gpu {

// Handles; 0 is "none". They are never reused within one Device.
struct BufferId {
  uint32_t value = 0;
  bool operator==(const BufferId&) const = default;
};
struct PipelineId {
  uint32_t value = 0;
  bool operator==(const PipelineId&) const = default;
};
struct BindGroupId {
  uint32_t value = 0;
  bool operator==(const BindGroupId&) const = default;
};
// Grows by one with each submit.
struct SubmitId {
  uint64_t value = 0;
};

struct Limits {
  uint64_t max_buffer_bytes = 256u << 20;
  uint64_t max_binding_bytes = 128u << 20;  // one storage binding; larger tensors are split by rows
  uint32_t max_storage_buffers = 8;         // per dispatch
  uint32_t max_workgroup_bytes = 16384;     // workgroup memory
  uint32_t max_workgroup_invocations = 256;
  uint32_t max_workgroups_per_dimension = 65535;
};

// Which shader compiler reads the WGSL; they differ in what they accept (docs/wgsl-dialects.md).
enum class Dialect { kNaga, kTint };

enum class AdapterType { kDiscrete, kIntegrated, kSoftware, kUnknown };
std::string_view name(AdapterType type);  // "discrete", ...

// A shape that matrix units take through WGSL: left [m, k] times right [k, n], both f16 or both
// f32, sums [m, n] f32. Zeros: none.
struct MatrixShape {
  uint32_t m = 0, n = 0, k = 0;
  bool f32 = false;  // operands, where units do not add products of f16 up in f32 (Metal)
};

// What kernels may rely on. Everything false and the default Limits is the WebGPU baseline.
struct DeviceInfo {
  std::string name;     // "NVIDIA H200"
  std::string vendor;   // lower case: "nvidia", "mesa"
  std::string backend;  // "vulkan", "metal", "d3d12", "null"
  std::string driver;   // free text with version
  AdapterType type = AdapterType::kUnknown;
  Dialect dialect = Dialect::kNaga;
  // shader-f16: `enable f16;`
  bool f16 = false;
  // Sizes are 0 without subgroups. Unless min == max, a kernel reads the size from the builtin.
  bool subgroups = false;
  uint32_t subgroup_min = 0;
  uint32_t subgroup_max = 0;
  // dot4I8Packed gives right numbers and is not known to be emulated; tuning says whether it pays.
  bool dot4 = false;
  // Its compiler takes minutes for large kernels: small ones are chosen where there is a choice,
  // and loops are kept from being unrolled (TURNS of kernels/common/step.wgsl).
  bool slow_compiler = false;
  // Device::share() works.
  bool shares_memory = false;
  // Matrix units through WGSL.
  bool subgroup_matrix = false;
  MatrixShape matrix;
  Limits limits;
};

// The `enable` and `diagnostic` lines that WGSL for this device starts with.
std::string wgsl_header(const DeviceInfo& info);

enum class Access : uint8_t { kRead, kReadWrite };

struct PipelineDesc {
  std::string label;  // for messages and plans
  std::string wgsl;   // complete text; the entry point is `main`, all bindings in @group(0)
  std::vector<Access> bindings;  // by binding number, all storage buffers
};

struct Binding {
  BufferId buffer;
  uint64_t offset = 0;  // bytes, a multiple of 256
  uint64_t bytes = 0;   // a multiple of 4
};

// A flat list of work, cheap to refill each step. Dispatches run in order, each sees what earlier
// ones wrote.
struct Command {
  enum class Kind : uint8_t { kDispatch, kCopy } kind = Kind::kDispatch;
  PipelineId pipeline;
  BindGroupId bind_group;
  uint32_t x = 1, y = 1, z = 1;  // workgroups; a dispatch with a zero is left out
  BufferId source, destination;  // copies
  uint64_t source_offset = 0, destination_offset = 0, bytes = 0;  // multiples of 4
};
class CommandList {
 public:
  void clear() { commands_.clear(); }
  void dispatch(PipelineId pipeline, BindGroupId bind_group, uint32_t x, uint32_t y = 1,
                uint32_t z = 1);
  // Between two different buffers; the source is kStorage, the destination is not being read. Zero
  // bytes are left out.
  void copy(BufferId source, uint64_t source_offset, BufferId destination,
            uint64_t destination_offset, uint64_t bytes);
  std::span<const Command> commands() const { return commands_; }

 private:
  std::vector<Command> commands_;
};

enum class BufferUse : uint8_t {
  kStorage,   // bound by kernels, written by write_buffer, source and destination of copies
  kReadback,  // destination of copies, read by read_back
};

using PipelineDone = std::function<void(base::Result<PipelineId>)>;
using ReadDone = std::function<void(base::Result<void>)>;
using WaitDone = std::function<void(base::Result<void>)>;

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Zero-filled; bytes are rounded up to a multiple of 4. Errors: kOutOfMemory with the size,
  // kInvalidArgument above max_buffer_bytes, kDeviceLost.
  virtual base::Result<BufferId> create_buffer(uint64_t bytes, BufferUse use,
                                               std::string_view label) = 0;
  // A kStorage buffer that lies in memory of the host, all of it, of which other devices may have
  // one too. What commands of one device write there, kernels of another see before the end of
  // their submit, where they have not read that word, or a neighbour of it, in the same submit:
  // caches keep what was read until its end. The buffer keeps the memory until its work is done.
  // Errors: those of create_buffer; kUnsupported where not DeviceInfo::shares_memory.
  virtual base::Result<BufferId> share(const std::shared_ptr<HostMemory>& memory,
                                       std::string_view label);
  // Work submitted before still runs. Bind groups that use the buffer are destroyed too.
  virtual void destroy_buffer(BufferId buffer) = 0;

  // Calls done once, before it returns or in poll(). Equal WGSL text is compiled once. Errors:
  // kDevice with the compiler's message and the label.
  virtual void create_pipeline(PipelineDesc desc, PipelineDone done) = 0;
  // One binding for each of the pipeline's. Errors: kInvalidArgument on a wrong count, an unaligned
  // offset, a range outside its buffer or above max_binding_bytes; in debug builds and null/ also
  // on bindings of one buffer that overlap where one is written, and on read beside read-write of
  // one buffer (the rule of WebGPU).
  virtual base::Result<BindGroupId> create_bind_group(PipelineId pipeline,
                                                      std::span<const Binding> bindings) = 0;
  virtual void destroy_bind_group(BindGroupId group) = 0;

  // Takes effect before commands submitted later; the bytes are copied before it returns. Offset
  // and size: multiples of 4.
  virtual base::Result<void> write_buffer(BufferId buffer, uint64_t offset,
                                          std::span<const std::byte> bytes) = 0;
  // Records and submits; does not wait. Errors: kDeviceLost; kInvalidArgument on what is gone or
  // does not fit together, and kDevice when the GPU refused this or an earlier operation. Nothing
  // of a refused list runs.
  virtual base::Result<SubmitId> submit(const CommandList& list) = 0;
  // The same where the GPU has nothing to do: natively it begins while the rest of the list is
  // still recorded, and may have run the parts before one that is refused. The id is that of the
  // end.
  virtual base::Result<SubmitId> submit_early(const CommandList& list);
  // Copies bytes of a kReadback buffer to `out` once all work submitted so far has run, then calls
  // done. `out` stays alive until then; one read at a time for each buffer. The offset is a
  // multiple of 8, the size of 4. A read that is outstanding when the Device is destroyed is
  // dropped without a call.
  virtual void read_back(BufferId buffer, uint64_t offset, std::span<std::byte> out,
                         ReadDone done) = 0;

  // Blocks until the submit has run (native), and runs callbacks that are due. In a page:
  // kUnsupported.
  virtual base::Result<void> wait(SubmitId submit) = 0;
  // Calls done once the submit has run: natively before it returns, in a page from the event loop.
  // Dropped without a call when the Device is destroyed before.
  virtual void when_done(SubmitId submit, WaitDone done);
  // Lets callbacks run; natively blocks until at least one outstanding read_back is done when there
  // is any.
  virtual void poll() = 0;
  // Set once the device is gone; everything then fails with kDeviceLost and this text.
  virtual bool lost() const = 0;
};

}  // namespace puna::gpu
