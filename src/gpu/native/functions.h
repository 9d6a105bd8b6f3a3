// The functions of webgpu.h that native/ calls, as one table for each library that is loaded: the
// program links none of them.
#pragma once

#define WGPU_SKIP_DECLARATIONS  // what is not in the table cannot be called
#include <webgpu/wgpu.h>

#include "base/result.h"
#include "gpu/native/shared_library.h"

namespace puna::gpu::native {

// Names without "wgpu", which every library has. A new one is a word here.
#define PUNA_WEBGPU_FUNCTIONS(X)          \
  X(AdapterGetInfo)                       \
  X(AdapterGetLimits)                     \
  X(AdapterHasFeature)                    \
  X(AdapterInfoFreeMembers)               \
  X(AdapterRelease)                       \
  X(AdapterRequestDevice)                 \
  X(BindGroupLayoutRelease)               \
  X(BindGroupRelease)                     \
  X(BufferDestroy)                        \
  X(BufferGetConstMappedRange)            \
  X(BufferGetMappedRange)                 \
  X(BufferMapAsync)                       \
  X(BufferRelease)                        \
  X(BufferUnmap)                          \
  X(CommandBufferRelease)                 \
  X(CommandEncoderBeginComputePass)       \
  X(CommandEncoderCopyBufferToBuffer)     \
  X(CommandEncoderFinish)                 \
  X(CommandEncoderRelease)                \
  X(ComputePassEncoderDispatchWorkgroups) \
  X(ComputePassEncoderEnd)                \
  X(ComputePassEncoderRelease)            \
  X(ComputePassEncoderSetBindGroup)       \
  X(ComputePassEncoderSetPipeline)        \
  X(ComputePipelineRelease)               \
  X(CreateInstance)                       \
  X(DeviceCreateBindGroup)                \
  X(DeviceCreateBindGroupLayout)          \
  X(DeviceCreateBuffer)                   \
  X(DeviceCreateCommandEncoder)           \
  X(DeviceCreateComputePipeline)          \
  X(DeviceCreateComputePipelineAsync)     \
  X(DeviceCreatePipelineLayout)           \
  X(DeviceCreateShaderModule)             \
  X(DeviceDestroy)                        \
  X(DeviceGetLostFuture)                  \
  X(DeviceGetQueue)                       \
  X(DevicePopErrorScope)                  \
  X(DevicePushErrorScope)                 \
  X(DeviceRelease)                        \
  X(InstanceProcessEvents)                \
  X(InstanceRequestAdapter)               \
  X(InstanceWaitAny)                      \
  X(PipelineLayoutRelease)                \
  X(QueueOnSubmittedWorkDone)             \
  X(QueueRelease)                         \
  X(QueueSubmit)                          \
  X(QueueWriteBuffer)                     \
  X(ShaderModuleRelease)

// What wgpu-native has beside them: null in another library's table.
#define PUNA_WGPU_NATIVE_FUNCTIONS(X) \
  X(DeviceCreateShaderModuleTrusted)  \
  X(DevicePoll)                       \
  X(GetVersion)                       \
  X(InstanceEnumerateAdapters)        \
  X(QueueSubmitForIndex)              \
  X(SetLogCallback)                   \
  X(SetLogLevel)

struct Functions {
#define PUNA_MEMBER_(name) WGPUProc##name name = nullptr;
  PUNA_WEBGPU_FUNCTIONS(PUNA_MEMBER_)
#undef PUNA_MEMBER_
#define PUNA_MEMBER_(name) decltype(&::wgpu##name) name = nullptr;
  PUNA_WGPU_NATIVE_FUNCTIONS(PUNA_MEMBER_)
#undef PUNA_MEMBER_
};

// Errors: kUnsupported with the name of a function that the library lacks, whichever it is.
base::Result<Functions> load_functions(const SharedLibrary& library);

}  // namespace puna::gpu::native
