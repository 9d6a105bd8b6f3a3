// The page's GPU: which adapter there is, what it offers, and a device with all of that.

// As gpu::web::parse_info in src/gpu/web/web_device.h reads it.
export interface GpuFacts {
  name: string;
  vendor: string;
  driver: string;
  software: boolean;
  naga: boolean;
  f16: boolean;
  subgroups: boolean;
  subgroupMinSize: number;
  subgroupMaxSize: number;
  maxBufferSize: number;
  maxStorageBufferBindingSize: number;
  maxStorageBuffersPerShaderStage: number;
  maxComputeWorkgroupStorageSize: number;
  maxComputeInvocationsPerWorkgroup: number;
  maxComputeWorkgroupsPerDimension: number;
}

export interface OpenedGpu {
  device: GPUDevice;
  facts: GpuFacts;
}

// What kernels may rely on; a device that fails its check is opened again with less.
export type GpuFeatures = 'all' | 'no f16' | 'baseline';

const limitNames = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupsPerDimension',
] as const;

export interface FoundAdapter {
  adapter: GPUAdapter;
  software: boolean;
  name: string;
}

// The adapter, or why there is none.
export async function findAdapter(): Promise<FoundAdapter | string> {
  if (!globalThis.isSecureContext) return 'the page is not served over https or from localhost';
  if (!navigator.gpu) return 'this browser has no WebGPU';
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) return 'this browser offers no GPU adapter';
  const { info } = adapter;
  const name = info.description || [info.vendor, info.architecture, info.device].filter(Boolean).join(' ') || 'GPU';
  return { adapter, name, software: info.isFallbackAdapter ?? false };
}

export async function openGpu({ adapter, name, software }: FoundAdapter, wanted: GpuFeatures): Promise<OpenedGpu> {
  const f16 = wanted === 'all' && adapter.features.has('shader-f16');
  const subgroups = wanted !== 'baseline' && adapter.features.has('subgroups');
  const requiredFeatures: GPUFeatureName[] = [];
  if (f16) requiredFeatures.push('shader-f16');
  if (subgroups) requiredFeatures.push('subgroups');
  const limits = Object.fromEntries(limitNames.map((limit) => [limit, adapter.limits[limit]])) as Record<(typeof limitNames)[number], number>;
  const invocations = limits.maxComputeInvocationsPerWorkgroup;
  const device = await adapter.requestDevice({
    label: 'puna',
    requiredFeatures,
    requiredLimits: {
      ...limits,
      maxComputeWorkgroupSizeX: Math.min(invocations, adapter.limits.maxComputeWorkgroupSizeX),
      maxComputeWorkgroupSizeY: Math.min(invocations, adapter.limits.maxComputeWorkgroupSizeY),
    },
  });
  const { info } = adapter;
  const facts: GpuFacts = {
    ...limits,
    maxComputeInvocationsPerWorkgroup: Math.min(invocations, adapter.limits.maxComputeWorkgroupSizeX, adapter.limits.maxComputeWorkgroupSizeY),
    name,
    vendor: info.vendor.toLowerCase(),
    driver: navigator.userAgent,
    software,
    // Firefox compiles with naga, which differs in what it accepts (docs/wgsl-dialects.md).
    naga: /\bFirefox\//.test(navigator.userAgent),
    f16,
    subgroups,
    subgroupMinSize: info.subgroupMinSize ?? 0,
    subgroupMaxSize: info.subgroupMaxSize ?? 0,
  };
  return { device, facts };
}
