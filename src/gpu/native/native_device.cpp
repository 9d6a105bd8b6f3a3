#include "gpu/native/native_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/log.h"

namespace puna::gpu::native {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

// Waits older than this many submits wait for the oldest remembered one instead, which ran later.
constexpr size_t kRememberedSubmits = 64;
// A wait of less is brief.
constexpr double kBriefMs = 2;
constexpr WGPUBufferUsage kStorageUsage =
    WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
// Memory of destroyed buffers that is worth a wait before more is taken.
constexpr uint64_t kReclaimed = 64u << 20;

// Catches what goes wrong in the library between its construction and end().
class ErrorScope {
 public:
  ErrorScope(Instance& instance, WGPUDevice device) : instance_(instance), device_(device) {
    for (const WGPUErrorFilter filter : instance.error_filters())
      instance.wgpu().DevicePushErrorScope(device_, filter);
  }
  ~ErrorScope() {
    if (open_) static_cast<void>(end(""));
  }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  // The error, if there was one, after `what`: "Kernel "x" does not compile".
  Result<void> end(std::string_view what) {
    open_ = false;
    struct Caught {
      WGPUErrorType type = WGPUErrorType_NoError;
      std::string message;
    } caught;
    for (size_t i = 0; i < instance_.error_filters().size(); ++i) {
      WGPUPopErrorScopeCallbackInfo callback = {};
      callback.mode = WGPUCallbackMode_AllowSpontaneous;
      callback.userdata1 = &caught;
      callback.callback = [](WGPUPopErrorScopeStatus, WGPUErrorType type, WGPUStringView message,
                             void* data, void*) {
        if (type != WGPUErrorType_NoError) *static_cast<Caught*>(data) = {type, text(message)};
      };
      instance_.settle(instance_.wgpu().DevicePopErrorScope(device_, callback));
    }
    if (caught.type == WGPUErrorType_NoError) return {};
    const bool memory = caught.type == WGPUErrorType_OutOfMemory;
    return fail(
        memory ? ErrorCode::kOutOfMemory : ErrorCode::kDevice,
        fmt::format("{}{}", what,
                    memory ? ": the device has no memory left for it." : ": " + caught.message));
  }

 private:
  Instance& instance_;
  WGPUDevice device_;
  bool open_ = true;
};

}  // namespace

NativeDevice::NativeDevice(Opened opened)
    : instance_(std::move(opened.instance)),
      wgpu_(instance_->wgpu()),
      device_(opened.device),
      queue_(wgpu_.DeviceGetQueue(opened.device)),
      health_(std::move(opened.health)),
      info_(std::move(opened.info)),
      trusted_shaders_(opened.trusted_shaders),
      memory_bytes_(opened.memory_bytes),
      staged_writes_(std::in_place, *instance_, device_, queue_) {}

NativeDevice::~NativeDevice() {
  // Work in flight ends first, then what it used goes, users before the used.
  if (!health_->lost && !tickets_.empty()) instance_->wait_for(device_, tickets_.back());
  health_->closing = true;
  for (Group& group : groups_) {
    if (group.handle) wgpu_.BindGroupRelease(group.handle);
  }
  for (const auto& each : compiling_) {
    if (each->ticket != 0 && !each->ready) instance_->settle({each->ticket});
    if (each->handle) wgpu_.ComputePipelineRelease(each->handle);
  }
  for (Pipeline& pipeline : pipelines_) {
    if (pipeline.handle) wgpu_.ComputePipelineRelease(pipeline.handle);
  }
  for (auto& [key, layout] : layouts_) {
    wgpu_.PipelineLayoutRelease(layout.pipeline);
    wgpu_.BindGroupLayoutRelease(layout.group);
  }
  for (Buffer& buffer : buffers_) {
    if (!buffer.handle) continue;
    wgpu_.BufferDestroy(buffer.handle);
    wgpu_.BufferRelease(buffer.handle);
  }
  staged_writes_.reset();
  wgpu_.QueueRelease(queue_);
  instance_->close_device(device_);
}

Result<void> NativeDevice::alive() const {
  if (health_->lost) return fail_lost(health_->reason);
  if (!health_->error.empty()) {
    return fail(ErrorCode::kDevice, fmt::format("The GPU refused an earlier operation: {}",
                                                std::exchange(health_->error, {})));
  }
  return {};
}

NativeDevice::Buffer* NativeDevice::find(BufferId id) {
  if (id.value == 0 || id.value > buffers_.size() || !buffers_[id.value - 1].handle) return nullptr;
  return &buffers_[id.value - 1];
}

Result<BufferId> NativeDevice::create_buffer(uint64_t bytes, BufferUse use,
                                             std::string_view label) {
  PUNA_TRY(alive());
  PUNA_TRY(check_create_buffer(info_.limits, bytes, label));
  WGPUBufferDescriptor descriptor = {};
  descriptor.label = view(label);
  descriptor.size = whole_words(bytes);
  descriptor.usage = use == BufferUse::kReadback ? WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst
                                                 : kStorageUsage;
  if (memory_bytes_ && descriptor.size > *memory_bytes_ - used_bytes_) {
    return fail(ErrorCode::kOutOfMemory,
                fmt::format("Buffer \"{}\" of {} bytes is refused: {} of the {} bytes that may be "
                            "used are taken.",
                            label, descriptor.size, used_bytes_, *memory_bytes_));
  }
  if (destroyed_bytes_ >= kReclaimed) PUNA_TRY(reclaim());
  return keep_buffer(use, descriptor, nullptr);
}

Result<BufferId> NativeDevice::share(const std::shared_ptr<HostMemory>& memory,
                                     std::string_view label) {
  if (!info_.shares_memory) return Device::share(memory, label);
  PUNA_TRY(alive());
  WGPUBufferDescriptor descriptor = {};
  descriptor.label = view(label);
  descriptor.size = memory->bytes().size();
  descriptor.usage = kStorageUsage;
  PUNA_TRY(check_create_buffer(info_.limits, descriptor.size, label));
  return keep_buffer(BufferUse::kStorage, descriptor, memory);
}

// memory: of the host, where the buffer is to lie; null: the device's own.
Result<BufferId> NativeDevice::keep_buffer(BufferUse use, WGPUBufferDescriptor descriptor,
                                           const std::shared_ptr<HostMemory>& memory) {
  const std::string label = text(descriptor.label);
  const bool own = memory == nullptr;
  ErrorScope scope(*instance_, device_);
  WGPUBuffer handle = own ? wgpu_.DeviceCreateBuffer(device_, &descriptor)
                          : instance_->create_shared_buffer(device_, descriptor, memory);
  if (auto made =
          scope.end(fmt::format("Buffer \"{}\" of {} bytes is refused", label, descriptor.size));
      !made) {
    if (handle) wgpu_.BufferRelease(handle);
    return std::unexpected(std::move(made.error()));
  }
  if (!handle)
    return fail(ErrorCode::kOutOfMemory,
                fmt::format("Buffer \"{}\" of {} bytes is refused.", label, descriptor.size));
  buffers_.push_back({{label, descriptor.size, use, false}, handle, own ? descriptor.size : 0});
  used_bytes_ += buffers_.back().own_bytes;
  return BufferId{static_cast<uint32_t>(buffers_.size())};
}

void NativeDevice::destroy_buffer(BufferId id) {
  Buffer* buffer = find(id);
  if (buffer == nullptr) return;
  // A submit that names a destroyed buffer aborts the process in wgpu-native, so groups that bind
  // it go too.
  for (Group& group : groups_) {
    for (const BufferId bound : group.buffers) {
      if (bound == id && group.handle) wgpu_.BindGroupRelease(std::exchange(group.handle, nullptr));
    }
  }
  used_bytes_ -= buffer->own_bytes;
  destroyed_bytes_ += buffer->own_bytes;
  wgpu_.BufferDestroy(buffer->handle);
  wgpu_.BufferRelease(std::exchange(buffer->handle, nullptr));
}

// Dawn keeps the memory of a destroyed buffer until a submit that came after it is through.
Result<void> NativeDevice::reclaim() {
  PUNA_TRY(submit(std::span<const Command>()));
  instance_->wait_for(device_, tickets_.back());
  destroyed_bytes_ = 0;
  return {};
}

void NativeDevice::create_pipeline(PipelineDesc desc, PipelineDone done) {
  if (auto begun = begin_pipeline(std::move(desc), done); !begun)
    return done(std::unexpected(std::move(begun.error())));
  deliver_pipelines();
}

// Takes `done` unless there is an error.
Result<void> NativeDevice::begin_pipeline(PipelineDesc desc, PipelineDone& done) {
  PUNA_TRY(alive());
  if (const auto found = by_wgsl_.find(desc.wgsl); found != by_wgsl_.end()) {
    const auto on_its_way = std::ranges::find_if(
        compiling_, [&](const auto& each) { return each->id.value == found->second; });
    if (on_its_way == compiling_.end()) {
      std::exchange(done, nullptr)(PipelineId{found->second});
    } else {
      (*on_its_way)->done.push_back(std::move(done));
    }
    return {};
  }
  PUNA_TRY(check_pipeline(info_.limits, desc));
  PUNA_TRY(const Layout layout, layout_for(desc.bindings));
  auto compiling = std::make_shared<Compiling>();
  compiling->id = {static_cast<uint32_t>(pipelines_.size() + 1)};
  compiling->wgsl = std::exchange(desc.wgsl, {});
  compiling->done.push_back(std::move(done));
  by_wgsl_.emplace(compiling->wgsl, compiling->id.value);
  pipelines_.push_back({std::move(desc), nullptr, layout});
  compiling_.push_back(std::move(compiling));
  begin_compiling();
  return {};
}

// As many at once as there are cores, for each takes memory too.
void NativeDevice::begin_compiling() {
  static const size_t kMost = std::max(std::thread::hardware_concurrency(), 2u);
  for (size_t i = 0; i < std::min(compiling_.size(), kMost); ++i) {
    const std::shared_ptr<Compiling>& next = compiling_[i];
    if (next->ticket != 0 || next->ready) continue;
    if (auto begun = compile(next); !begun) {
      next->error = std::move(begun.error());
      next->ready = true;
    }
  }
}

Result<void> NativeDevice::compile(const std::shared_ptr<Compiling>& compiling) {
  const Pipeline& pipeline = pipelines_[compiling->id.value - 1];
  const std::string& label = pipeline.desc.label;
  const std::string what = fmt::format("Kernel \"{}\" does not compile", label);
  WGPUShaderSourceWGSL source = {};
  source.chain.sType = WGPUSType_ShaderSourceWGSL;
  source.code = view(compiling->wgsl);
  WGPUShaderModuleDescriptor module_descriptor = {};
  module_descriptor.nextInChain = &source.chain;
  module_descriptor.label = view(label);
  compiling->since_begun = {};
  ErrorScope module_scope(*instance_, device_);
  WGPUShaderModule module =
      instance_->create_shader_module(device_, module_descriptor, trusted_shaders_);
  if (auto made = module_scope.end(what); !made) {
    if (module) wgpu_.ShaderModuleRelease(module);
    return made;
  }
  WGPUComputePipelineDescriptor descriptor = {};
  descriptor.label = view(label);
  descriptor.layout = pipeline.layout.pipeline;
  descriptor.compute.module = module;
  descriptor.compute.entryPoint = view("main");
  compiling->ticket = instance_->compile_beside(
      device_, descriptor, [compiling, what](WGPUComputePipeline handle, const std::string& error) {
        compiling->handle = handle;
        if (!handle)
          compiling->error = {ErrorCode::kDevice, fmt::format("{}: {}", what, error), {}};
        compiling->ready = true;
      });
  if (compiling->ticket != 0) {
    wgpu_.ShaderModuleRelease(module);
    return {};
  }
  ErrorScope scope(*instance_, device_);
  compiling->handle = wgpu_.DeviceCreateComputePipeline(device_, &descriptor);
  wgpu_.ShaderModuleRelease(module);
  if (auto made = scope.end(what); !made) {
    if (compiling->handle) wgpu_.ComputePipelineRelease(std::exchange(compiling->handle, nullptr));
    return made;
  }
  compiling->ready = true;
  return {};
}

// Calls back for those that are compiled, and begins others.
void NativeDevice::deliver_pipelines() {
  // Taken out first: callbacks may ask for more.
  std::vector<std::shared_ptr<Compiling>> due;
  std::erase_if(compiling_, [&](const std::shared_ptr<Compiling>& each) {
    if (each->ready) due.push_back(each);
    return each->ready;
  });
  if (due.empty()) return;
  begin_compiling();
  for (const auto& each : due) {
    Result<PipelineId> made = each->id;
    if (each->handle) {
      Pipeline& pipeline = pipelines_[each->id.value - 1];
      pipeline.handle = each->handle;
      base::log_debug("Kernel \"{}\" is there after {:.0f} ms.", pipeline.desc.label,
                      each->since_begun.ms());
    } else {
      by_wgsl_.erase(each->wgsl);
      made = std::unexpected(*each->error);
    }
    for (PipelineDone& done : each->done) std::exchange(done, nullptr)(made);
  }
}

Result<NativeDevice::Layout> NativeDevice::layout_for(std::span<const Access> bindings) {
  const std::vector<Access> key(bindings.begin(), bindings.end());
  if (const auto found = layouts_.find(key); found != layouts_.end()) return found->second;
  std::vector<WGPUBindGroupLayoutEntry> entries(bindings.size());
  for (size_t i = 0; i < bindings.size(); ++i) {
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].visibility = WGPUShaderStage_Compute;
    entries[i].buffer.type = bindings[i] == Access::kRead ? WGPUBufferBindingType_ReadOnlyStorage
                                                          : WGPUBufferBindingType_Storage;
  }
  ErrorScope scope(*instance_, device_);
  WGPUBindGroupLayoutDescriptor group = {};
  group.entryCount = entries.size();
  group.entries = entries.data();
  Layout layout;
  layout.group = wgpu_.DeviceCreateBindGroupLayout(device_, &group);
  WGPUPipelineLayoutDescriptor pipeline = {};
  pipeline.bindGroupLayoutCount = 1;
  pipeline.bindGroupLayouts = &layout.group;
  layout.pipeline = wgpu_.DeviceCreatePipelineLayout(device_, &pipeline);
  if (auto made = scope.end("A pipeline layout is refused"); !made) {
    if (layout.pipeline) wgpu_.PipelineLayoutRelease(layout.pipeline);
    if (layout.group) wgpu_.BindGroupLayoutRelease(layout.group);
    return std::unexpected(std::move(made.error()));
  }
  layouts_.emplace(key, layout);
  return layout;
}

Result<BindGroupId> NativeDevice::create_bind_group(PipelineId id,
                                                    std::span<const Binding> bindings) {
  PUNA_TRY(alive());
  if (id.value == 0 || id.value > pipelines_.size()) return fail_unknown("pipeline", id.value);
  const Pipeline& pipeline = pipelines_[id.value - 1];
  const PipelineDesc& desc = pipeline.desc;
  PUNA_TRY(check_binding_count(desc, bindings.size()));
  std::vector<WGPUBindGroupEntry> entries(bindings.size());
  Group group;
  group.pipeline = id;
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Buffer* buffer = find(bindings[i].buffer);
    if (buffer == nullptr) return fail_unknown("buffer", bindings[i].buffer.value);
    PUNA_TRY(check_binding(info_.limits, desc, i, bindings[i], buffer->facts));
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].buffer = buffer->handle;
    entries[i].offset = bindings[i].offset;
    entries[i].size = bindings[i].bytes;
    group.buffers.push_back(bindings[i].buffer);
  }
#ifndef NDEBUG
  PUNA_TRY(check_overlap(desc, bindings));
#endif
  WGPUBindGroupDescriptor descriptor = {};
  descriptor.label = view(desc.label);
  descriptor.layout = pipeline.layout.group;
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  ErrorScope scope(*instance_, device_);
  group.handle = wgpu_.DeviceCreateBindGroup(device_, &descriptor);
  if (auto made = scope.end(fmt::format("The bindings of kernel \"{}\" are refused", desc.label));
      !made) {
    if (group.handle) wgpu_.BindGroupRelease(group.handle);
    return std::unexpected(std::move(made.error()));
  }
  groups_.push_back(std::move(group));
  return BindGroupId{static_cast<uint32_t>(groups_.size())};
}

void NativeDevice::destroy_bind_group(BindGroupId id) {
  if (id.value == 0 || id.value > groups_.size()) return;
  Group& group = groups_[id.value - 1];
  if (group.handle) wgpu_.BindGroupRelease(std::exchange(group.handle, nullptr));
}

Result<void> NativeDevice::write_buffer(BufferId id, uint64_t offset,
                                        std::span<const std::byte> bytes) {
  PUNA_TRY(alive());
  const Buffer* buffer = find(id);
  if (buffer == nullptr) return fail_unknown("buffer", id.value);
  PUNA_TRY(check_write(buffer->facts, offset, bytes.size()));
  if (bytes.size() > instance_->largest_write()) {
    staged_writes_->write(buffer->handle, offset, bytes);
  } else if (!bytes.empty()) {
    wgpu_.QueueWriteBuffer(queue_, buffer->handle, offset, bytes.data(), bytes.size());
  }
  return alive();
}

// Records one command list: dispatches share a compute pass, which a copy ends.
class NativeDevice::Encoder {
 public:
  explicit Encoder(NativeDevice& device)
      : device_(device),
        wgpu_(device.wgpu_),
        encoder_(wgpu_.DeviceCreateCommandEncoder(device.device_, nullptr)) {}
  ~Encoder() {
    end_pass();
    wgpu_.CommandEncoderRelease(encoder_);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  Result<void> dispatch(const Command& command) {
    const uint32_t pipeline_id = command.pipeline.value, group_id = command.bind_group.value;
    if (pipeline_id == 0 || pipeline_id > device_.pipelines_.size())
      return fail_unknown("pipeline", pipeline_id);
    if (group_id == 0 || group_id > device_.groups_.size())
      return fail_unknown("bind group", group_id);
    const Pipeline& pipeline = device_.pipelines_[pipeline_id - 1];
    const Group& group = device_.groups_[group_id - 1];
    if (group.handle == nullptr) return fail_unknown("bind group", group_id);
    if (group.pipeline != command.pipeline) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Bind group {} was made for kernel \"{}\", not for \"{}\".", group_id,
                              device_.pipelines_[group.pipeline.value - 1].desc.label,
                              pipeline.desc.label));
    }
    PUNA_TRY(check_dispatch(device_.info_.limits, pipeline.desc, command));
    if (pass_ == nullptr) pass_ = wgpu_.CommandEncoderBeginComputePass(encoder_, nullptr);
    if (current_ != pipeline.handle)
      wgpu_.ComputePassEncoderSetPipeline(pass_, current_ = pipeline.handle);
    wgpu_.ComputePassEncoderSetBindGroup(pass_, 0, group.handle, 0, nullptr);
    wgpu_.ComputePassEncoderDispatchWorkgroups(pass_, command.x, command.y, command.z);
    return {};
  }

  Result<void> copy(const Command& command) {
    const Buffer* source = device_.find(command.source);
    const Buffer* destination = device_.find(command.destination);
    if (source == nullptr) return fail_unknown("buffer", command.source.value);
    if (destination == nullptr) return fail_unknown("buffer", command.destination.value);
    PUNA_TRY(check_copy(command, source->facts, destination->facts));
    end_pass();
    wgpu_.CommandEncoderCopyBufferToBuffer(encoder_, source->handle, command.source_offset,
                                           destination->handle, command.destination_offset,
                                           command.bytes);
    return {};
  }

  WGPUCommandBuffer finish() {
    end_pass();
    return wgpu_.CommandEncoderFinish(encoder_, nullptr);
  }

 private:
  void end_pass() {
    if (pass_ == nullptr) return;
    wgpu_.ComputePassEncoderEnd(pass_);
    wgpu_.ComputePassEncoderRelease(std::exchange(pass_, nullptr));
    current_ = nullptr;
  }

  NativeDevice& device_;
  const Functions& wgpu_;
  WGPUCommandEncoder encoder_;
  WGPUComputePassEncoder pass_ = nullptr;
  WGPUComputePipeline current_ = nullptr;
};

Result<SubmitId> NativeDevice::submit(const CommandList& list) { return submit(list.commands()); }

// The first part is short, so that the GPU begins at once; each further one takes about as long to
// record as the GPU takes for the one before, and there are few of them, as each submit costs, too.
Result<SubmitId> NativeDevice::submit_early(const CommandList& list) {
  constexpr size_t kFirstPart = 4, kGrowth = 3;
  std::span<const Command> left = list.commands();
  size_t n = kFirstPart;
  for (; left.size() > n; n *= kGrowth) {
    PUNA_TRY(submit(left.first(n)));
    left = left.subspan(n);
  }
  return submit(left);
}

Result<SubmitId> NativeDevice::submit(std::span<const Command> commands) {
  PUNA_TRY(alive());
  Encoder encoder(*this);
  for (const Command& command : commands) {
    PUNA_TRY(command.kind == Command::Kind::kCopy ? encoder.copy(command)
                                                  : encoder.dispatch(command));
  }
  WGPUCommandBuffer recorded = encoder.finish();
  // An error in the recording has been reported by now; such a command buffer must not be
  // submitted.
  if (auto fine = alive(); !fine) {
    if (recorded) wgpu_.CommandBufferRelease(recorded);
    return std::unexpected(std::move(fine.error()));
  }
  tickets_.push_back(instance_->submit(device_, queue_, recorded));
  wgpu_.CommandBufferRelease(recorded);
  if (tickets_.size() > kRememberedSubmits) tickets_.pop_front();
  return SubmitId{++last_submit_};
}

void NativeDevice::read_back(BufferId id, uint64_t offset, std::span<std::byte> out,
                             ReadDone done) {
  if (auto started = start_read(id, offset, out, done); !started) done(std::move(started));
}

Result<void> NativeDevice::start_read(BufferId id, uint64_t offset, std::span<std::byte> out,
                                      ReadDone& done) {
  PUNA_TRY(alive());
  Buffer* buffer = find(id);
  if (buffer == nullptr) return fail_unknown("buffer", id.value);
  PUNA_TRY(check_read(buffer->facts, offset, out.size()));
  buffer->facts.reading = true;
  auto read = std::make_shared<Read>();
  read->buffer = id;
  read->offset = offset;
  read->out = out;
  read->done = std::move(done);
  read->ticket = tickets_.empty() ? 0 : tickets_.back();
  reads_.push_back(read);
  if (out.empty()) {
    read->ready = true;
    return {};
  }
  // The library calls back once, at the latest when the buffer goes; until then it owns a share of
  // the read.
  WGPUBufferMapCallbackInfo callback = {};
  callback.mode = WGPUCallbackMode_AllowProcessEvents;
  callback.userdata1 = new std::shared_ptr<Read>(read);
  callback.callback = [](WGPUMapAsyncStatus status, WGPUStringView message, void* data, void*) {
    const std::unique_ptr<std::shared_ptr<Read>> share(static_cast<std::shared_ptr<Read>*>(data));
    Read& read = **share;
    read.ready = true;
    if (status != WGPUMapAsyncStatus_Success) {
      read.error = text(message);
      if (read.error.empty()) read.error = "the map was given up";
    }
  };
  wgpu_.BufferMapAsync(buffer->handle, WGPUMapMode_Read, offset, out.size(), callback);
  return {};
}

// Takes the bytes of a read that is ready.
Result<void> NativeDevice::finish(Read& read) {
  if (health_->lost) return fail_lost(health_->reason);
  Buffer* buffer = find(read.buffer);
  if (buffer == nullptr) return fail_unknown("buffer", read.buffer.value);
  buffer->facts.reading = false;
  if (read.out.empty()) return {};
  if (read.error.empty()) {
    const void* bytes =
        wgpu_.BufferGetConstMappedRange(buffer->handle, read.offset, read.out.size());
    if (bytes != nullptr) std::memcpy(read.out.data(), bytes, read.out.size());
    wgpu_.BufferUnmap(buffer->handle);
    if (bytes != nullptr) return {};
    read.error = "its bytes are not there";
  }
  return fail(ErrorCode::kDevice,
              fmt::format("Buffer \"{}\" cannot be read: {}", buffer->facts.label, read.error));
}

void NativeDevice::deliver() {
  // Taken out first: callbacks may start new reads, which wait for the next call.
  std::vector<std::shared_ptr<Read>> due;
  std::erase_if(reads_, [&](const std::shared_ptr<Read>& read) {
    if (read->ready || health_->lost) due.push_back(read);
    return read->ready || health_->lost;
  });
  for (const auto& read : due) std::exchange(read->done, nullptr)(finish(*read));
  deliver_pipelines();
}

Result<void> NativeDevice::wait(SubmitId submit) {
  PUNA_TRY(alive());
  if (submit.value > last_submit_) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Submit {} is waited for, but the last one is {}.", submit.value,
                            last_submit_));
  }
  if (submit.value > 0) {
    const uint64_t first = last_submit_ + 1 - tickets_.size();
    instance_->wait_for(device_, tickets_[submit.value > first ? submit.value - first : 0]);
  }
  deliver();
  return alive();
}

void NativeDevice::poll() {
  instance_->run_callbacks(device_);
  bool any_ready = health_->lost;
  for (const auto& read : reads_) any_ready = any_ready || read->ready;
  for (const auto& each : compiling_) any_ready = any_ready || each->ready;
  if (!any_ready && !reads_.empty()) {
    if (reads_.front()->ticket != 0) wait_for_read(reads_.front()->ticket);
  } else if (!any_ready && !compiling_.empty()) {
    instance_->settle({compiling_.front()->ticket});
  }
  deliver();
}

// A thread that sleeps wakes up late, on a core that has slowed down: where waits are brief, as in
// a decode that goes from one card to another and back with each token, it stays awake. Not beside
// an integrated GPU, whose power it would take, or a software one, whose cores.
void NativeDevice::wait_for_read(Ticket ticket) {
  const base::Timer timer;
  if (brief_ && info_.type == AdapterType::kDiscrete) {
    while (timer.ms() < kBriefMs && !instance_->may_have_run(ticket)) {
    }
  }
  instance_->wait_for(device_, ticket);
  brief_ = timer.ms() < kBriefMs;
}

void NativeDevice::lose_for_test() {
  wgpu_.DeviceDestroy(device_);
  // wgpu-native tells at the next submit (a loss by the driver it tells at once).
  if (!health_->lost) static_cast<void>(submit(CommandList()));
  instance_->run_callbacks(device_);
}

}  // namespace puna::gpu::native
