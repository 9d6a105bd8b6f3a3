// What there is to know of the device and the browser that a figure comes from. Whether an engine used the GPU is not among it: that only the
// engine can say (sweep.js).

const kHighEntropy = ['architecture', 'bitness', 'fullVersionList', 'model', 'platformVersion'];
const kSoftware = /swiftshader|llvmpipe|lavapipe|basic render/i;

export async function deviceFacts() {
  const agent = await navigator.userAgentData?.getHighEntropyValues(kHighEntropy).catch(() => null);
  return {
    user_agent: navigator.userAgent,
    user_agent_data: agent ?? null,
    cores: navigator.hardwareConcurrency ?? null,
    device_memory_gb: navigator.deviceMemory ?? null,
    secure_context: self.isSecureContext,
    cross_origin_isolated: self.crossOriginIsolated,
    adapter: await adapterFacts(),
  };
}

// The adapter that the npm package asks for too, or {missing: why}.
async function adapterFacts() {
  if (!self.isSecureContext) return { missing: 'the page is not served over https or from localhost' };
  if (!navigator.gpu) return { missing: 'this browser has no WebGPU' };
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter) return { missing: 'this browser offers no GPU adapter' };
  const { vendor, architecture, device, description, isFallbackAdapter, subgroupMinSize, subgroupMaxSize } = adapter.info;
  const limits = {};
  for (const name in adapter.limits) if (typeof adapter.limits[name] === 'number') limits[name] = adapter.limits[name];
  return {
    vendor,
    architecture,
    device,
    description,
    software: Boolean(isFallbackAdapter) || kSoftware.test(`${architecture} ${description}`),
    subgroup_min_size: subgroupMinSize ?? null,
    subgroup_max_size: subgroupMaxSize ?? null,
    features: [...adapter.features].sort(),
    limits,
  };
}

// "Chrome 156", "Firefox 153", "Safari 26.1".
export function browserName({ user_agent: agent }) {
  const found = [/(Edg|OPR|Firefox|FxiOS|CriOS|SamsungBrowser)\/(\d+)/, /(Chrome)\/(\d+)/, /Version\/([\d.]+).*Safari/].map((pattern) => pattern.exec(agent)).find(Boolean);
  if (!found) return 'unknown browser';
  const names = { Edg: 'Edge', OPR: 'Opera', FxiOS: 'Firefox', CriOS: 'Chrome', SamsungBrowser: 'Samsung Internet' };
  return found.length === 2 ? `Safari ${found[1]}` : `${names[found[1]] ?? found[1]} ${found[2]}`;
}

// A name for results of this device, which its user may change.
export function suggestedName(facts) {
  const { adapter } = facts;
  const device = facts.user_agent_data?.model || (adapter.missing ? `cpu-${facts.cores}-cores` : [adapter.vendor, adapter.architecture].filter(Boolean).join(' ') || 'gpu');
  return `${device} ${browserName(facts)}`.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}
