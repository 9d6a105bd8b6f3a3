// Causal depthwise convolution over rows of a step (own_conv.h). One channel an invocation,
// channels along x of the grid, rows along y; f32.
@group(0) @binding(B_X) var<storage, read_write> x : array<f32>;
@group(0) @binding(B_WEIGHTS) var<storage, read> weights : array<f32>;
@group(0) @binding(B_BEFORE) var<storage, read_write> before : array<f32>;
@group(0) @binding(B_Y) var<storage, read_write> y : array<f32>;

@compute @workgroup_size(WG) fn main(@builtin(global_invocation_id) id : vec3<u32>) {
  let c = id.x;
  let row = id.y;
  if (c >= CHANNELS) {
    return;
  }
  let reach = min(u32(before[row * BEFORE_STRIDE]), TAPS - 1);
  var sum = 0.0;
  for (var back = 0u; back <= reach; back++) {
    sum += weights[c * TAPS + TAPS - 1 - back] * x[(row - back) * CHANNELS + c];
  }
  y[row * CHANNELS + c] = sum;
}
