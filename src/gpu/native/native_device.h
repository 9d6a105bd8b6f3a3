// Device on webgpu.h. Internal to native/: adapters.cpp opens and probes it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "gpu/native/library.h"
#include "gpu/native/staged_writes.h"
#include "gpu/rules.h"

namespace puna::gpu::native {

// What the library's callbacks report; they may come until the device is released.
struct Health {
  bool lost = false;
  bool closing = false;  // our own release is no loss
  std::string reason;
  std::string error;  // an error that no scope caught
};

struct Opened {
  std::shared_ptr<Instance> instance;
  WGPUDevice device = nullptr;
  std::unique_ptr<Health> health;
  DeviceInfo info;
  bool trusted_shaders = true;
  std::optional<uint64_t> memory_bytes;  // of all buffers; none: as many as the library gives
};

class NativeDevice final : public Device {
 public:
  explicit NativeDevice(Opened opened);
  ~NativeDevice() override;
  NativeDevice(const NativeDevice&) = delete;
  NativeDevice& operator=(const NativeDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }
  void set_info(DeviceInfo info) { info_ = std::move(info); }

  base::Result<BufferId> create_buffer(uint64_t bytes, BufferUse use,
                                       std::string_view label) override;
  base::Result<BufferId> share(const std::shared_ptr<HostMemory>& memory,
                               std::string_view label) override;
  void destroy_buffer(BufferId buffer) override;
  void create_pipeline(PipelineDesc desc, PipelineDone done) override;
  base::Result<BindGroupId> create_bind_group(PipelineId pipeline,
                                              std::span<const Binding> bindings) override;
  void destroy_bind_group(BindGroupId group) override;
  base::Result<void> write_buffer(BufferId buffer, uint64_t offset,
                                  std::span<const std::byte> bytes) override;
  base::Result<SubmitId> submit(const CommandList& list) override;
  base::Result<SubmitId> submit_early(const CommandList& list) override;
  void read_back(BufferId buffer, uint64_t offset, std::span<std::byte> out,
                 ReadDone done) override;
  base::Result<void> wait(SubmitId submit) override;
  void poll() override;
  bool lost() const override { return health_->lost; }
  // What a crashed driver does, for tests.
  void lose_for_test();

 private:
  struct Buffer {
    BufferFacts facts;
    WGPUBuffer handle = nullptr;  // null once destroyed
    uint64_t own_bytes = 0;       // of the device's memory
  };
  struct Layout {
    WGPUBindGroupLayout group = nullptr;
    WGPUPipelineLayout pipeline = nullptr;
  };
  struct Pipeline {
    PipelineDesc desc;                     // without the text
    WGPUComputePipeline handle = nullptr;  // null until it is compiled
    Layout layout;                         // owned by layouts_
  };
  struct Group {
    PipelineId pipeline;
    std::vector<BufferId> buffers;
    WGPUBindGroup handle = nullptr;  // null once destroyed
  };
  struct Read {
    BufferId buffer;
    uint64_t offset = 0;
    std::span<std::byte> out;
    ReadDone done;
    Ticket ticket = 0;
    bool ready = false;
    std::string error;  // empty when mapped
  };
  // A pipeline on its way, or about to be.
  struct Compiling {
    PipelineId id;
    std::string wgsl;
    std::vector<PipelineDone> done;  // of all who want it
    Ticket ticket = 0;               // of a library that compiles beside us, once begun
    base::Timer since_begun;
    bool ready = false;
    WGPUComputePipeline handle = nullptr;
    std::optional<base::Error> error;  // once it is ready, where there is no handle
  };
  class Encoder;

  base::Result<void> alive() const;
  base::Result<BufferId> keep_buffer(BufferUse use, WGPUBufferDescriptor descriptor,
                                     const std::shared_ptr<HostMemory>& memory);
  base::Result<SubmitId> submit(std::span<const Command> commands);
  Buffer* find(BufferId id);
  base::Result<Layout> layout_for(std::span<const Access> bindings);
  base::Result<void> begin_pipeline(PipelineDesc desc, PipelineDone& done);
  void begin_compiling();
  base::Result<void> compile(const std::shared_ptr<Compiling>& compiling);
  void deliver_pipelines();
  base::Result<void> reclaim();
  base::Result<void> start_read(BufferId id, uint64_t offset, std::span<std::byte> out,
                                ReadDone& done);
  base::Result<void> finish(Read& read);
  void wait_for_read(Ticket ticket);
  void deliver();

  std::shared_ptr<Instance> instance_;
  const Functions& wgpu_;
  WGPUDevice device_;
  WGPUQueue queue_;
  std::unique_ptr<Health> health_;
  DeviceInfo info_;
  bool trusted_shaders_;
  std::optional<uint64_t> memory_bytes_;
  std::optional<StagedWrites> staged_writes_;  // until the device is closed
  uint64_t used_bytes_ = 0;                    // of buffers_
  uint64_t destroyed_bytes_ = 0;               // since memory was last reclaimed
  std::vector<Buffer> buffers_;
  std::vector<Pipeline> pipelines_;
  std::vector<Group> groups_;
  std::map<std::vector<Access>, Layout> layouts_;
  std::unordered_map<std::string, uint32_t> by_wgsl_;
  std::deque<std::shared_ptr<Compiling>> compiling_;
  std::deque<std::shared_ptr<Read>> reads_;
  bool brief_ = false;  // the last wait for one of them was
  // Tickets of the last submits, the newest at the back; submit ids are consecutive.
  std::deque<Ticket> tickets_;
  uint64_t last_submit_ = 0;
};

}  // namespace puna::gpu::native
