// The JavaScript half of WebDevice, as an Emscripten library. GPU objects lie in arrays under the handles that web_device.cpp
// gives out. Whatever the page answers goes back through puna_gpu_..._done and puna_gpu_told.

const GpuLibrary = {
  $PunaGpu: {
    devices: [],

    // Takes over a GPUDevice; returns its handle.
    add: (device) => {
      const handle = PunaGpu.devices.length;
      const state = {device, handle, buffers: [], pipelines: [], groups: [], layouts: new Map()};
      PunaGpu.devices.push(state);
      device.lost.then((info) => {
        if (info.reason !== 'destroyed' || !state.released) PunaGpu.tell(state, 2, info.message || info.reason || 'no reason was given');
      });
      device.onuncapturederror = (event) =>
          PunaGpu.tell(state, event.error instanceof GPUOutOfMemoryError ? 1 : 0, event.error.message);
      return handle;
    },
    tell: (state, kind, message) => {
      if (!state.released) _puna_gpu_told(state.handle, kind, stringToNewUTF8(message));
    },
    text: (at, bytes) => UTF8ToString(at, bytes),
    // Something failed: because the device went away, which the page is told of after that, or for a reason of its own.
    lossIsTold: (state) => Promise.race([state.device.lost, new Promise((resolve) => setTimeout(resolve, 1000))]),
    // Bind group layout and pipeline layout of a list of accesses, "rrw".
    layout: (state, access) => {
      let found = state.layouts.get(access);
      if (!found) {
        const entries = [...access].map((a, binding) => ({
          binding, visibility: GPUShaderStage.COMPUTE, buffer: {type: a === 'r' ? 'read-only-storage' : 'storage'}}));
        const group = state.device.createBindGroupLayout({entries});
        found = {group, pipeline: state.device.createPipelineLayout({bindGroupLayouts: [group]})};
        state.layouts.set(access, found);
      }
      return found;
    },
    compile: async (state, id, label, code, access) => {
      const {device} = state;
      const layout = PunaGpu.layout(state, access);
      const module = device.createShaderModule({code, label});
      try {
        const pipeline = await device.createComputePipelineAsync({label, layout: layout.pipeline, compute: {module, entryPoint: 'main'}});
        state.pipelines[id] = {pipeline, layout};
        return 0;
      } catch (error) {
        await PunaGpu.lossIsTold(state);
        const {messages} = await module.getCompilationInfo();
        const first = messages.find((m) => m.type === 'error');
        return stringToNewUTF8(first ? `line ${first.lineNum}: ${first.message}` : error.message || 'no reason was given');
      }
    },
  },
  $PunaGpu__deps: ['puna_gpu_told', '$stringToNewUTF8', '$UTF8ToString'],

  puna_gpu_create_buffer: (device, id, bytes, readback, label, labelBytes) => {
    const state = PunaGpu.devices[device];
    const {MAP_READ, COPY_DST, COPY_SRC, STORAGE} = GPUBufferUsage;
    state.buffers[id] = state.device.createBuffer({
      label: PunaGpu.text(label, labelBytes), size: bytes, usage: readback ? MAP_READ | COPY_DST : STORAGE | COPY_SRC | COPY_DST});
  },
  puna_gpu_destroy_buffer: (device, id) => {
    const {buffers} = PunaGpu.devices[device];
    buffers[id].destroy();
    delete buffers[id];
  },
  puna_gpu_create_pipeline: (device, id, label, labelBytes, wgsl, wgslBytes, access, n) => {
    const state = PunaGpu.devices[device];
    PunaGpu.compile(state, id, PunaGpu.text(label, labelBytes), PunaGpu.text(wgsl, wgslBytes), PunaGpu.text(access, n))
        .then((error) => _puna_gpu_pipeline_done(device, id, error));
  },
  puna_gpu_create_group: (device, id, pipeline, bindings, n) => {
    const state = PunaGpu.devices[device];
    const entries = [];
    for (let i = 0; i < n; ++i) {  // struct Binding: u32 buffer, u64 offset at 8, u64 bytes at 16
      const at = (bindings >> 2) + 6 * i;
      const u64 = (w) => HEAPU32[w] + HEAPU32[w + 1] * 4294967296;
      entries.push({binding: i, resource: {buffer: state.buffers[HEAPU32[at]], offset: u64(at + 2), size: u64(at + 4)}});
    }
    state.groups[id] = state.device.createBindGroup({layout: state.pipelines[pipeline].layout.group, entries});
  },
  puna_gpu_destroy_group: (device, id) => {
    delete PunaGpu.devices[device].groups[id];
  },
  puna_gpu_write: (device, buffer, offset, bytes, n) => {
    const state = PunaGpu.devices[device];
    state.device.queue.writeBuffer(state.buffers[buffer], offset, HEAPU8, bytes, n);
  },
  // struct Command, 14 words: u8 kind, pipeline, bind group, x, y, z, source, destination, and u64 source offset, destination
  // offset, bytes. Dispatches share a compute pass, which a copy ends.
  puna_gpu_submit: (device, commands, n) => {
    const state = PunaGpu.devices[device];
    const encoder = state.device.createCommandEncoder();
    let pass = null, current = 0;
    for (let i = 0, at = commands >> 2; i < n; ++i, at += 14) {
      if (HEAPU8[at << 2] === 0) {
        if (!pass) {
          pass = encoder.beginComputePass();
          current = 0;
        }
        const pipeline = HEAPU32[at + 1];
        if (pipeline !== current) pass.setPipeline(state.pipelines[current = pipeline].pipeline);
        pass.setBindGroup(0, state.groups[HEAPU32[at + 2]]);
        pass.dispatchWorkgroups(HEAPU32[at + 3], HEAPU32[at + 4], HEAPU32[at + 5]);
      } else {
        pass?.end();
        pass = null;
        const u64 = (w) => HEAPU32[w] + HEAPU32[w + 1] * 4294967296;
        encoder.copyBufferToBuffer(state.buffers[HEAPU32[at + 6]], u64(at + 8), state.buffers[HEAPU32[at + 7]], u64(at + 10), u64(at + 12));
      }
    }
    pass?.end();
    state.device.queue.submit([encoder.finish()]);
  },
  puna_gpu_map: (device, request, buffer, offset, n) => {
    const state = PunaGpu.devices[device];
    state.buffers[buffer].mapAsync(GPUMapMode.READ, offset, n)
        .then(() => 0, (error) => PunaGpu.lossIsTold(state).then(() => stringToNewUTF8(error.message || 'the map was given up')))
        .then((error) => _puna_gpu_read_done(device, request, error));
  },
  puna_gpu_take: (device, buffer, offset, out, n) => {
    const source = PunaGpu.devices[device].buffers[buffer];
    HEAPU8.set(new Uint8Array(source.getMappedRange(offset, n)), out);
    source.unmap();
  },
  puna_gpu_when_done: (device, request) => {
    const done = () => _puna_gpu_work_done(device, request);
    PunaGpu.devices[device].device.queue.onSubmittedWorkDone().then(done, done);
  },
  puna_gpu_release: (device) => {
    const state = PunaGpu.devices[device];
    state.released = true;
    state.device.destroy();
    PunaGpu.devices[device] = null;
  },
};
for (const name of Object.keys(GpuLibrary)) {
  if (!name.startsWith('$')) GpuLibrary[`${name}__deps`] = ['$PunaGpu', 'puna_gpu_pipeline_done', 'puna_gpu_read_done', 'puna_gpu_work_done'];
}
addToLibrary(GpuLibrary);
