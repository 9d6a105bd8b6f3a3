"""Encoders for the weight types of the tiny models. Plain rather than good: the reference logits are those of the stored values.

Layouts: gguf's constants and the block descriptions in src/quant/*.h. What the gguf package encodes itself is left to it.
"""
import gguf
import numpy as np

QK = 256  # values of a k-type block


def half_bytes(x):
    return np.asarray(x, dtype=np.float16).view(np.uint8)


def encode_q6_k(x):
    """[n, 256] -> [n, 210] bytes: low nibbles 128, high bit pairs 64, int8 scales 16, f16 d."""
    groups = x.reshape(-1, 16, 16)
    scale = np.abs(groups).max(-1) / 31
    d = np.float16(scale.max(-1, keepdims=True) / 127).astype(np.float64)
    scales = np.clip(np.rint(scale / np.where(d == 0, 1, d)), -128, 127)
    step = (d * scales)[..., None]
    codes = np.clip(np.rint(groups / np.where(step == 0, 1, step)), -32, 31).astype(np.int64) + 32
    # Two halves of 128; within one, value 32 * j + l has its low bits in byte 32 * (j % 2) + l and its high bits at 2 * j.
    codes = codes.reshape(-1, 2, 4, 32)
    low, high = codes & 15, codes >> 4
    ql = np.concatenate([low[:, :, 0] | low[:, :, 2] << 4, low[:, :, 1] | low[:, :, 3] << 4], -1)
    qh = high[:, :, 0] | high[:, :, 1] << 2 | high[:, :, 2] << 4 | high[:, :, 3] << 6
    n = len(x)
    return np.concatenate([ql.reshape(n, 128).astype(np.uint8), qh.reshape(n, 64).astype(np.uint8),
                           scales.astype(np.int8).view(np.uint8), half_bytes(d)], -1)


def encode_q4_k(x):
    """[n, 256] -> [n, 144] bytes: f16 d and dmin, 8 six-bit scales and minima in 12 bytes, nibbles 128."""
    groups = x.reshape(-1, 8, 32)
    low = np.minimum(groups.min(-1), 0)
    scale, minimum = (groups.max(-1) - low) / 15, -low
    d, dmin = (np.float16(v.max(-1, keepdims=True) / 63).astype(np.float64) for v in (scale, minimum))
    s, m = (np.clip(np.rint(v / np.where(u == 0, 1, u)), 0, 63).astype(np.int64) for v, u in ((scale, d), (minimum, dmin)))
    step, offset = (d * s)[..., None], (dmin * m)[..., None]
    codes = np.clip(np.rint((groups + offset) / np.where(step == 0, 1, step)), 0, 15).astype(np.int64)
    packed = np.concatenate([s[:, :4] | s[:, 4:] >> 4 << 6, m[:, :4] | m[:, 4:] >> 4 << 6, s[:, 4:] & 15 | (m[:, 4:] & 15) << 4], -1)
    nibbles = codes[:, 0::2] | codes[:, 1::2] << 4
    n = len(x)
    return np.concatenate([half_bytes(d), half_bytes(dmin), packed.astype(np.uint8), nibbles.reshape(n, 128).astype(np.uint8)], -1)


K_ENCODERS = {gguf.GGMLQuantizationType.Q6_K: encode_q6_k, gguf.GGMLQuantizationType.Q4_K: encode_q4_k}


def encode(x, kind):
    """A float matrix as stored bytes (or as an array of the type itself for f32 and f16)."""
    encoder = K_ENCODERS.get(kind)
    if encoder is None:
        return gguf.quantize(x.astype(np.float32), kind)
    return encoder(x.astype(np.float64).reshape(-1, QK)).reshape(len(x), -1)
