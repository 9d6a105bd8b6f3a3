#!/usr/bin/env python3
"""Compares Puna's decoding of every block type with the gguf package's, bit for bit in f32.

Needs Python 3.10 with gguf 0.19 and numpy, and the decoder: cmake --build --preset release --target puna_decode_blocks.
usage: tools/compare_decoding.py [--decoder PATH] [--blocks N] [--seed N] [--write-digests]
  --write-digests  also writes src/quant/gguf_digests.inc, which the unit tests check without Python
q1_0 has no decoder in the package; its description in ggml (block_q1_0) is decoded here.
"""
import argparse
import pathlib
import subprocess
import sys

import gguf
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIGESTS = ROOT / "src/quant/gguf_digests.inc"
DIGEST_BLOCKS = 300


def decode_q1_0(blocks):
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little")
    return np.where(bits == 1, scale, -scale)


def reference(kind, blocks):
    if kind == gguf.GGMLQuantizationType.Q1_0:
        return decode_q1_0(blocks).astype(np.float32)
    # Scales whose exponent is out of range overflow in both.
    with np.errstate(over="ignore", invalid="ignore"):
        return gguf.dequantize(blocks, kind).astype(np.float32)


def half_bytes(name, block_bytes):
    """As in src/quant/test_blocks.h: the high bytes of a block's f16 fields."""
    if name in ("q4_1", "q5_1", "q4_k", "q5_k"):
        return [1, 3]
    if name == "q2_k":
        return [81, 83]
    if name in ("q3_k", "q6_k", "iq1_m", "tq1_0", "tq2_0"):
        return [block_bytes - 1]
    return [] if name in ("mxfp4", "nvfp4") else [1]


def finite(blocks, name):
    for at in half_bytes(name, blocks.shape[1]):
        blocks[:, at] &= 0xBF
    return blocks


def digest_blocks(name, gguf_id, block_bytes):
    """As test_blocks() in src/quant/test_blocks.h."""
    state, out = gguf_id, bytearray()
    for _ in range(DIGEST_BLOCKS * block_bytes):
        state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        out.append(state >> 56)
    return finite(np.frombuffer(bytes(out), np.uint8).reshape(-1, block_bytes).copy(), name)


def digest(values):
    state = 0xCBF29CE484222325
    for word in values.reshape(-1).view(np.uint32).tolist():
        state = ((state ^ word) * 0x100000001B3) & (2**64 - 1)
    return state


def run(decoder, *arguments, data=b""):
    return subprocess.run([decoder, *arguments], input=data, stdout=subprocess.PIPE, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decoder", default=ROOT / "build/release/src/quant/puna_decode_blocks")
    parser.add_argument("--blocks", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write-digests", action="store_true")
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    failed, lines = 0, []
    for line in run(arguments.decoder).decode().splitlines():
        name, gguf_id, elements, block_bytes = line.split()
        gguf_id, elements, block_bytes = int(gguf_id), int(elements), int(block_bytes)
        kind = gguf.GGMLQuantizationType(gguf_id)
        if gguf.GGML_QUANT_SIZES[kind] != (elements, block_bytes):
            sys.exit(f"error: {name} is {elements} elements in {block_bytes} bytes, gguf says {gguf.GGML_QUANT_SIZES[kind]}")
        if elements == 1:
            continue
        blocks = finite(random.integers(0, 256, (arguments.blocks, block_bytes), dtype=np.uint8), name)
        ours = np.frombuffer(run(arguments.decoder, name, data=blocks.tobytes()), np.uint32)
        theirs = reference(kind, blocks).reshape(-1).view(np.uint32)
        wrong = int((ours != theirs).sum()) if ours.shape == theirs.shape else -1
        failed += wrong != 0
        print(f"{name:8} {ours.size:8} values, {wrong} differ")
        lines.append(f'{{"{name}", 0x{digest(reference(kind, digest_blocks(name, gguf_id, block_bytes))):016x}}},')
    if arguments.write_digests:
        DIGESTS.write_text("// Written by tools/compare_decoding.py from the gguf package.\n" + "\n".join(lines) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
