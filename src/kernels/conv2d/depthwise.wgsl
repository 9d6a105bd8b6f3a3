// A convolution of each channel by itself (conv2d.h): an output an invocation, in the order of y.
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
@group(0) @binding(B_WEIGHTS) var<storage, read> weights: array<f32>;
#ifdef B_BIAS
@group(0) @binding(B_BIAS) var<storage, read> bias: array<f32>;
#endif
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;

#include "conv2d/input.wgsl"

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let unit = id.y * SPAN + id.x;
  if (unit >= UNITS) {
    return;
  }
#if PIXELS
  let channel = unit % CHANNELS;
  let place = unit / CHANNELS;
  let image = place / (OUT_H * OUT_W);
#else
  let place = unit;
  let channel = unit / (OUT_H * OUT_W) % CHANNELS;
  let image = unit / (OUT_H * OUT_W * CHANNELS);
#endif
  let i = place / OUT_W % OUT_H;
  let j = place % OUT_W;
#ifdef B_BIAS
  var sum = bias[channel];
#else
  var sum = 0.0;
#endif
  for (var p = 0u; p < KERNEL_H; p++) {
    for (var q = 0u; q < KERNEL_W; q++) {
      sum += weights[(channel * KERNEL_H + p) * KERNEL_W + q] * input_at(image, channel, i, j, p, q);
    }
  }
  y[unit] = sum;
}
