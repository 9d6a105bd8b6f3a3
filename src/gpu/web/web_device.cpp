#include "gpu/web/web_device.h"

#include <emscripten/emscripten.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "gpu/probe.h"
#include "gpu/quirks.h"
#include "gpu/rules.h"

// web_device.js. Sizes and offsets are doubles: exact below 2^53, and no 64-bit integers cross.
extern "C" {
void puna_gpu_create_buffer(uint32_t device, uint32_t id, double bytes, bool readback,
                            const char* label, size_t label_bytes);
void puna_gpu_destroy_buffer(uint32_t device, uint32_t id);
// `access` has one character a binding, 'r' or 'w'. Answers puna_gpu_pipeline_done.
void puna_gpu_create_pipeline(uint32_t device, uint32_t id, const char* label, size_t label_bytes,
                              const char* wgsl, size_t wgsl_bytes, const char* access,
                              size_t n_bindings);
void puna_gpu_create_group(uint32_t device, uint32_t id, uint32_t pipeline,
                           const puna::gpu::Binding* bindings, size_t n);
void puna_gpu_destroy_group(uint32_t device, uint32_t id);
void puna_gpu_write(uint32_t device, uint32_t buffer, double offset, const void* bytes, size_t n);
void puna_gpu_submit(uint32_t device, const puna::gpu::Command* commands, size_t n);
// Answers puna_gpu_read_done, which takes the bytes with puna_gpu_take.
void puna_gpu_map(uint32_t device, uint32_t request, uint32_t buffer, double offset, size_t n);
void puna_gpu_take(uint32_t device, uint32_t buffer, double offset, void* out, size_t n);
// Answers puna_gpu_work_done.
void puna_gpu_when_done(uint32_t device, uint32_t request);
void puna_gpu_release(uint32_t device);
}

namespace puna::gpu::web {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Task;

// web_device.js reads command lists and bindings as they lie in memory.
static_assert(sizeof(Command) == 56 && offsetof(Command, pipeline) == 4 &&
              offsetof(Command, bind_group) == 8 && offsetof(Command, x) == 12 &&
              offsetof(Command, source) == 24 && offsetof(Command, destination) == 28 &&
              offsetof(Command, source_offset) == 32 &&
              offsetof(Command, destination_offset) == 40 && offsetof(Command, bytes) == 48);
static_assert(sizeof(Binding) == 24 && offsetof(Binding, offset) == 8 &&
              offsetof(Binding, bytes) == 16);

class WebDevice;
// By handle: answers to a device that has gone are dropped.
std::unordered_map<uint32_t, WebDevice*>& devices() {
  static auto& map = *new std::unordered_map<uint32_t, WebDevice*>();
  return map;
}

class WebDevice final : public Device {
 public:
  WebDevice(uint32_t handle, DeviceInfo info) : handle_(handle), info_(std::move(info)) {
    devices()[handle_] = this;
  }
  ~WebDevice() override {
    devices().erase(handle_);
    puna_gpu_release(handle_);
  }
  WebDevice(const WebDevice&) = delete;
  WebDevice& operator=(const WebDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }
  void set_info(DeviceInfo info) { info_ = std::move(info); }
  bool lost() const override { return lost_; }

  Result<BufferId> create_buffer(uint64_t bytes, BufferUse use, std::string_view label) override {
    PUNA_TRY(alive());
    PUNA_TRY(check_create_buffer(info_.limits, bytes, label));
    const uint64_t whole = whole_words(bytes);
    buffers_.push_back({{std::string(label), whole, use, false}, true});
    const auto id = static_cast<uint32_t>(buffers_.size());
    puna_gpu_create_buffer(handle_, id, static_cast<double>(whole), use == BufferUse::kReadback,
                           label.data(), label.size());
    return BufferId{id};
  }

  void destroy_buffer(BufferId id) override {
    Buffer* buffer = find(id);
    if (buffer == nullptr) return;
    buffer->alive = false;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (const BufferId bound : groups_[i].buffers) {
        if (bound == id) destroy_bind_group({static_cast<uint32_t>(i + 1)});
      }
    }
    puna_gpu_destroy_buffer(handle_, id.value);
  }

  void create_pipeline(PipelineDesc desc, PipelineDone done) override {
    if (auto started = start_pipeline(desc, done); !started)
      done(std::unexpected(std::move(started.error())));
  }

  Result<BindGroupId> create_bind_group(PipelineId id, std::span<const Binding> bindings) override {
    PUNA_TRY(alive());
    if (id.value == 0 || id.value > pipelines_.size()) return fail_unknown("pipeline", id.value);
    const PipelineDesc& desc = pipelines_[id.value - 1].desc;
    PUNA_TRY(check_binding_count(desc, bindings.size()));
    Group group{id, {}, true};
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Buffer* buffer = find(bindings[i].buffer);
      if (buffer == nullptr) return fail_unknown("buffer", bindings[i].buffer.value);
      PUNA_TRY(check_binding(info_.limits, desc, i, bindings[i], buffer->facts));
      group.buffers.push_back(bindings[i].buffer);
    }
    groups_.push_back(std::move(group));
    const auto group_id = static_cast<uint32_t>(groups_.size());
    puna_gpu_create_group(handle_, group_id, id.value, bindings.data(), bindings.size());
    return BindGroupId{group_id};
  }

  void destroy_bind_group(BindGroupId id) override {
    if (id.value == 0 || id.value > groups_.size() || !groups_[id.value - 1].alive) return;
    groups_[id.value - 1].alive = false;
    puna_gpu_destroy_group(handle_, id.value);
  }

  Result<void> write_buffer(BufferId id, uint64_t offset,
                            std::span<const std::byte> bytes) override {
    PUNA_TRY(alive());
    const Buffer* buffer = find(id);
    if (buffer == nullptr) return fail_unknown("buffer", id.value);
    PUNA_TRY(check_write(buffer->facts, offset, bytes.size()));
    if (!bytes.empty())
      puna_gpu_write(handle_, id.value, static_cast<double>(offset), bytes.data(), bytes.size());
    return {};
  }

  Result<SubmitId> submit(const CommandList& list) override {
    PUNA_TRY(alive());
    for (const Command& command : list.commands()) PUNA_TRY(check(command));
    puna_gpu_submit(handle_, list.commands().data(), list.commands().size());
    return SubmitId{++last_submit_};
  }

  void read_back(BufferId id, uint64_t offset, std::span<std::byte> out, ReadDone done) override {
    if (auto ready = start_read(id, offset, out); !ready) return done(std::move(ready));
    reads_[++last_request_] = {id, offset, out, std::move(done)};
    puna_gpu_map(handle_, last_request_, id.value, static_cast<double>(offset), out.size());
  }

  Result<void> wait(SubmitId) override {
    return fail(ErrorCode::kUnsupported, "A page cannot block until the GPU is done.");
  }
  // The page's queue tells of all work submitted so far, which `submit` is part of.
  void when_done(SubmitId, WaitDone done) override {
    if (auto fine = alive(); !fine) return done(std::move(fine));
    waits_[++last_request_] = std::move(done);
    puna_gpu_when_done(handle_, last_request_);
  }
  void poll() override {}

  // --- what the page answers ---
  void pipeline_done(uint32_t id, std::string error) {
    Pipeline& pipeline = pipelines_[id - 1];
    Result<PipelineId> result = PipelineId{id};
    if (!error.empty()) {
      by_wgsl_.erase(pipeline.wgsl);
      result = lost_ ? Result<PipelineId>(fail_lost(lost_reason_))
                     : fail(ErrorCode::kDevice, fmt::format("Kernel \"{}\" does not compile: {}",
                                                            pipeline.desc.label, error));
    }
    pipeline.ready = true;
    pipeline.wgsl.clear();
    for (PipelineDone& done : std::exchange(pipeline.waiting, {})) done(result);
  }

  void read_done(uint32_t request, std::string error) {
    const auto found = reads_.find(request);
    if (found == reads_.end()) return;
    Read read = std::move(found->second);
    reads_.erase(found);
    Buffer* buffer = find(read.buffer);
    if (buffer == nullptr) return read.done(fail_unknown("buffer", read.buffer.value));
    buffer->facts.reading = false;
    if (lost_) return read.done(fail_lost(lost_reason_));
    if (!error.empty()) {
      return read.done(fail(ErrorCode::kDevice, fmt::format("Buffer \"{}\" cannot be read: {}",
                                                            buffer->facts.label, error)));
    }
    puna_gpu_take(handle_, read.buffer.value, static_cast<double>(read.offset), read.out.data(),
                  read.out.size());
    read.done({});
  }

  void work_done(uint32_t request) {
    const auto found = waits_.find(request);
    if (found == waits_.end()) return;
    const WaitDone done = std::move(found->second);
    waits_.erase(found);
    done(alive());
  }

  void told(ErrorCode code, std::string message) {
    base::log_warning("The GPU reports: {}", message);
    if (code == ErrorCode::kDeviceLost) {
      lost_ = true;
      lost_reason_ = std::move(message);
    } else if (!error_) {
      error_.emplace(base::Error{code, std::move(message), {}});
    }
  }

 private:
  struct Buffer {
    BufferFacts facts;
    bool alive = true;
  };
  struct Pipeline {
    PipelineDesc desc;  // without the text
    std::string wgsl;   // until it is ready
    bool ready = false;
    std::vector<PipelineDone> waiting;
  };
  struct Group {
    PipelineId pipeline;
    std::vector<BufferId> buffers;
    bool alive = true;
  };
  struct Read {
    BufferId buffer;
    uint64_t offset = 0;
    std::span<std::byte> out;
    ReadDone done;
  };

  Result<void> alive() {
    if (lost_) return fail_lost(lost_reason_);
    if (!error_) return {};
    return std::unexpected(*std::exchange(error_, std::nullopt));
  }

  Buffer* find(BufferId id) {
    if (id.value == 0 || id.value > buffers_.size() || !buffers_[id.value - 1].alive)
      return nullptr;
    return &buffers_[id.value - 1];
  }

  Result<void> start_pipeline(PipelineDesc& desc, PipelineDone& done) {
    PUNA_TRY(alive());
    if (const auto known = by_wgsl_.find(desc.wgsl); known != by_wgsl_.end()) {
      Pipeline& pipeline = pipelines_[known->second - 1];
      if (pipeline.ready) {
        done(PipelineId{known->second});
      } else {
        pipeline.waiting.push_back(std::move(done));
      }
      return {};
    }
    PUNA_TRY(check_pipeline(info_.limits, desc));
    std::string access;
    for (const Access a : desc.bindings) access += a == Access::kRead ? 'r' : 'w';
    Pipeline& pipeline = pipelines_.emplace_back();
    const auto id = static_cast<uint32_t>(pipelines_.size());
    pipeline.wgsl = std::exchange(desc.wgsl, {});
    pipeline.desc = std::move(desc);
    pipeline.waiting.push_back(std::move(done));
    by_wgsl_.emplace(pipeline.wgsl, id);
    const std::string& label = pipeline.desc.label;
    puna_gpu_create_pipeline(handle_, id, label.data(), label.size(), pipeline.wgsl.data(),
                             pipeline.wgsl.size(), access.data(), access.size());
    return {};
  }

  Result<void> check(const Command& command) {
    if (command.kind == Command::Kind::kCopy) {
      const Buffer* source = find(command.source);
      const Buffer* destination = find(command.destination);
      if (source == nullptr) return fail_unknown("buffer", command.source.value);
      if (destination == nullptr) return fail_unknown("buffer", command.destination.value);
      return check_copy(command, source->facts, destination->facts);
    }
    const uint32_t pipeline = command.pipeline.value, group = command.bind_group.value;
    if (pipeline == 0 || pipeline > pipelines_.size()) return fail_unknown("pipeline", pipeline);
    if (group == 0 || group > groups_.size() || !groups_[group - 1].alive)
      return fail_unknown("bind group", group);
    const PipelineDesc& desc = pipelines_[pipeline - 1].desc;
    if (groups_[group - 1].pipeline != command.pipeline) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Bind group {} was not made for kernel \"{}\".", group, desc.label));
    }
    return check_dispatch(info_.limits, desc, command);
  }

  Result<void> start_read(BufferId id, uint64_t offset, std::span<std::byte> out) {
    PUNA_TRY(alive());
    Buffer* buffer = find(id);
    if (buffer == nullptr) return fail_unknown("buffer", id.value);
    PUNA_TRY(check_read(buffer->facts, offset, out.size()));
    buffer->facts.reading = true;
    return {};
  }

  uint32_t handle_;
  DeviceInfo info_;
  std::vector<Buffer> buffers_;
  std::vector<Pipeline> pipelines_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, uint32_t> by_wgsl_;
  std::unordered_map<uint32_t, Read> reads_;
  std::unordered_map<uint32_t, WaitDone> waits_;
  uint32_t last_request_ = 0;
  uint64_t last_submit_ = 0;
  bool lost_ = false;
  std::string lost_reason_;
  std::optional<base::Error> error_;  // told since the last call
};

WebDevice* find_device(uint32_t handle) {
  const auto found = devices().find(handle);
  return found == devices().end() ? nullptr : found->second;
}

// Takes over a text that JavaScript allocated; null is none.
std::string take_text(char* text) {
  std::string out = text == nullptr ? "" : text;
  std::free(text);
  return out;
}

}  // namespace

extern "C" {
// `error` is null when all went well.
EMSCRIPTEN_KEEPALIVE void puna_gpu_pipeline_done(uint32_t device, uint32_t id, char* error) {
  std::string text = take_text(error);
  if (WebDevice* d = find_device(device)) d->pipeline_done(id, std::move(text));
}
EMSCRIPTEN_KEEPALIVE void puna_gpu_read_done(uint32_t device, uint32_t request, char* error) {
  std::string text = take_text(error);
  if (WebDevice* d = find_device(device)) d->read_done(request, std::move(text));
}
EMSCRIPTEN_KEEPALIVE void puna_gpu_work_done(uint32_t device, uint32_t request) {
  if (WebDevice* d = find_device(device)) d->work_done(request);
}
// `kind`: 0 an error, 1 out of memory, 2 the device is lost.
EMSCRIPTEN_KEEPALIVE void puna_gpu_told(uint32_t device, int kind, char* message) {
  std::string text = take_text(message);
  WebDevice* d = find_device(device);
  if (d == nullptr) return;
  constexpr ErrorCode kCodes[] = {ErrorCode::kDevice, ErrorCode::kOutOfMemory,
                                  ErrorCode::kDeviceLost};
  d->told(kCodes[kind], std::move(text));
}
}

Result<DeviceInfo> parse_info(const base::Json& facts) {
  DeviceInfo info;
  PUNA_TRY(info.name, facts.get_string("name"));
  PUNA_TRY(info.vendor, facts.get_string("vendor"));
  PUNA_TRY(info.driver, facts.get_string("driver"));
  PUNA_TRY(const bool software, facts.get_bool("software"));
  PUNA_TRY(const bool naga, facts.get_bool("naga"));
  PUNA_TRY(info.f16, facts.get_bool("f16"));
  PUNA_TRY(info.subgroups, facts.get_bool("subgroups"));
  info.backend = "web";
  info.type = software ? AdapterType::kSoftware : AdapterType::kUnknown;
  info.dialect = naga ? Dialect::kNaga : Dialect::kTint;
  const auto number = [&](const char* key) -> Result<uint64_t> {
    PUNA_TRY(const double value, facts.get_number(key));
    if (value >= 0 && value <= 0x1p62) return static_cast<uint64_t>(value);
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The adapter's {} is {}, which cannot be.", key, value));
  };
  const auto small = [&](const char* key) -> Result<uint32_t> {
    PUNA_TRY(const uint64_t value, number(key));
    return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
  };
  PUNA_TRY(info.subgroup_min, small("subgroupMinSize"));
  PUNA_TRY(info.subgroup_max, small("subgroupMaxSize"));
  PUNA_TRY(info.limits.max_buffer_bytes, number("maxBufferSize"));
  PUNA_TRY(info.limits.max_binding_bytes, number("maxStorageBufferBindingSize"));
  PUNA_TRY(info.limits.max_storage_buffers, small("maxStorageBuffersPerShaderStage"));
  PUNA_TRY(info.limits.max_workgroup_bytes, small("maxComputeWorkgroupStorageSize"));
  PUNA_TRY(info.limits.max_workgroup_invocations, small("maxComputeInvocationsPerWorkgroup"));
  PUNA_TRY(info.limits.max_workgroups_per_dimension, small("maxComputeWorkgroupsPerDimension"));
  info.limits = usable(info.limits);
  return info;
}

Task<Result<std::unique_ptr<Device>>> open(uint32_t handle, DeviceInfo info, bool baseline) {
  if (baseline) hide_features(info);
  auto device = std::make_unique<WebDevice>(handle, std::move(info));
  PUNA_CO_TRY(DeviceInfo full, co_await probe(*device));
  for (const std::string_view quirk : apply_quirks(full))
    base::log_debug("Quirk {} applies to {}.", quirk, full.name);
  if (baseline) hide_features(full);
  device->set_info(std::move(full));
  co_return device;
}

}  // namespace puna::gpu::web
