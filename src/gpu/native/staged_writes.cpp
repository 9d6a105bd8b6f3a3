#include "gpu/native/staged_writes.h"

#include <algorithm>
#include <cstring>

namespace puna::gpu::native {

StagedWrites::StagedWrites(Instance& instance, WGPUDevice device, WGPUQueue queue)
    : instance_(instance), wgpu_(instance.wgpu()), device_(device), queue_(queue) {}

StagedWrites::~StagedWrites() {
  for (const Stage& stage : stages_) {
    wgpu_.BufferDestroy(stage.buffer);
    wgpu_.BufferRelease(stage.buffer);
  }
}

void StagedWrites::write(WGPUBuffer destination, uint64_t offset,
                         std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min<size_t>(bytes.size(), kStageBytes));
    Stage stage = take();
    // Null where there is no memory for it, or the device is lost; the library tells which.
    void* const memory =
        stage.buffer ? wgpu_.BufferGetMappedRange(stage.buffer, 0, piece.size()) : nullptr;
    if (memory == nullptr) {
      if (stage.buffer) wgpu_.BufferRelease(stage.buffer);
      wgpu_.QueueWriteBuffer(queue_, destination, offset, piece.data(), piece.size());
    } else {
      std::memcpy(memory, piece.data(), piece.size());
      wgpu_.BufferUnmap(stage.buffer);
      WGPUCommandEncoder encoder = wgpu_.DeviceCreateCommandEncoder(device_, nullptr);
      wgpu_.CommandEncoderCopyBufferToBuffer(encoder, stage.buffer, 0, destination, offset,
                                             piece.size());
      WGPUCommandBuffer commands = wgpu_.CommandEncoderFinish(encoder, nullptr);
      wgpu_.CommandEncoderRelease(encoder);
      wgpu_.QueueSubmit(queue_, 1, &commands);
      wgpu_.CommandBufferRelease(commands);
      WGPUBufferMapCallbackInfo callback = {};
      callback.mode = WGPUCallbackMode_WaitAnyOnly;
      callback.callback = [](WGPUMapAsyncStatus, WGPUStringView, void*, void*) {};
      stage.mapped =
          wgpu_.BufferMapAsync(stage.buffer, WGPUMapMode_Write, 0, kStageBytes, callback).id;
      stages_.push_back(stage);
    }
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
  }
}

StagedWrites::Stage StagedWrites::take() {
  const bool free = !stages_.empty() && instance_.may_have_run(stages_.front().mapped);
  if (!free && stages_.size() < kMostStages) {
    WGPUBufferDescriptor descriptor = {};
    descriptor.label = view("staged write");
    descriptor.usage = WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc;
    descriptor.size = kStageBytes;
    descriptor.mappedAtCreation = true;
    return {wgpu_.DeviceCreateBuffer(device_, &descriptor), 0};
  }
  const Stage stage = stages_.front();
  stages_.pop_front();
  if (!free) instance_.settle({stage.mapped});
  return stage;
}

}  // namespace puna::gpu::native
