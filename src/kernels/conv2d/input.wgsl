// x of tap (p, q) at the output (i, j) of an image's channel, zero outside the image (conv2d.h). Wants the binding x.
fn input_at(image: u32, channel: u32, i: u32, j: u32, p: u32, q: u32) -> f32 {
  // Left of and above the image the differences wrap to large numbers.
  let row = i * STRIDE_H + p * DILATION_H - PAD_H;
  let column = j * STRIDE_W + q * DILATION_W - PAD_W;
  if (row >= HEIGHT || column >= WIDTH) {
    return 0.0;
  }
#if PIXELS
  return x[((image * HEIGHT + row) * WIDTH + column) * CHANNELS + channel];
#else
  return x[((image * CHANNELS + channel) * HEIGHT + row) * WIDTH + column];
#endif
}
