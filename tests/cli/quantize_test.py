#!/usr/bin/env python3
"""`puna quantize` over the models of tests/goldens: what it writes runs, and holds what the type's definition says.

usage: tests/cli/quantize_test.py PUNA

The encodings of q8_0 and q4_0 are computed here a second time; those of the other types, and what type a mix gives which tensor, are
tested in src/quant.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tiny_gguf import Gguf

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8
BLOCK_BYTES = {Q4_0: 18, Q8_0: 34}


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def half(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def codes_of(values, scale, low, high):
    """Whole multiples of the scale, nearest (halves to even), as float arithmetic gives them."""
    inverse = f32(1 / scale) if scale else 0.0
    return [max(low, min(high, round(f32(v * inverse)))) for v in values]


def encode_q8_0(values):
    """Scale max|x| / 127 as f16, then the codes."""
    scale = half(f32(max(map(abs, values)) / 127))
    return struct.pack("<e", scale) + struct.pack("<32b", *codes_of(values, scale, -127, 127))


def encode_q4_0(values, scale):
    """Element j in the low nibble of byte j, 16 + j in the high one, each code 8 above its meaning."""
    codes = [c + 8 for c in codes_of(values, scale, -8, 7)]
    return struct.pack("<e", scale) + bytes(codes[j] | codes[j + 16] << 4 for j in range(16))


def error_of(values, block):
    scale = struct.unpack_from("<e", block)[0]
    codes = [b & 15 for b in block[2:]] + [b >> 4 for b in block[2:]]
    return sum((v - scale * (c - 8)) ** 2 for v, c in zip(values, codes))


def tensor_bytes(model, name):
    """(shape, type, data) of a tensor; its end is the next one's start."""
    names = [t[0] for t in model.tensors]
    _, shape, kind, offset = model.tensors[names.index(name)]
    later = sorted(t[3] for t in model.tensors if t[3] > offset)
    return shape, kind, model.tensor_data[offset : later[0] if later else None]


class Quantize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.env = {**os.environ, "PUNA_HOME": str(self.path / "home")}

    def puna(self, *args, code=0):
        done = subprocess.run([PUNA, *map(str, args)], capture_output=True, text=True, errors="replace", env=self.env, cwd=self.path, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_the_encoding_is_the_formats(self):
        self.puna("quantize", GOLDENS / "llama-q4_k_m.gguf", "f32.gguf", "f32")
        before = Gguf(self.path / "f32.gguf")
        for kind, name in [(Q8_0, "q8_0"), (Q4_0, "q4_0")]:
            self.puna("quantize", "f32.gguf", "out.gguf", f"pure:{name.upper()}")
            after = Gguf(self.path / "out.gguf")
            self.assertEqual([t[:2] for t in after.tensors], [t[:2] for t in before.tensors])
            for tensor in ["token_embd.weight", "blk.0.ffn_down.weight"]:
                shape, was, data = tensor_bytes(before, tensor)
                _, now, blocks = tensor_bytes(after, tensor)
                self.assertEqual((was, now), (F32, kind))
                n = shape[0] * shape[1]
                values = struct.unpack(f"<{n}f", data[: 4 * n])
                error = plain_error = 0
                for i in range(n // 32):
                    got, x = blocks[i * BLOCK_BYTES[kind] : (i + 1) * BLOCK_BYTES[kind]], values[32 * i : 32 * i + 32]
                    if kind == Q8_0:
                        self.assertEqual(got, encode_q8_0(x), f"block {i} of {tensor}")
                        continue
                    # The scale is searched for: the codes are the nearest for it, and it serves better than the plain one.
                    self.assertEqual(got, encode_q4_0(x, struct.unpack_from("<e", got)[0]), f"block {i} of {tensor}")
                    error += error_of(x, got)
                    plain_error += error_of(x, encode_q4_0(x, half(max(x, key=abs) / -8)))
                self.assertLessEqual(error, plain_error)
            for tensor in ["blk.0.attn_norm.weight", "output_norm.weight"]:
                self.assertEqual(tensor_bytes(after, tensor), tensor_bytes(before, tensor))

    def test_f32_holds_the_same_model(self):
        """Widening loses nothing: the greedy text is the golden one."""
        for name in ["llama-q4_0", "llama-q4_k_m", "gemma3-q8_0"]:
            facts = json.loads((GOLDENS / f"{name}.json").read_text())
            self.puna("quantize", GOLDENS / f"{name}.gguf", "wide.gguf", "f32")
            text = self.puna("run", "wide.gguf", "--tokens", ",".join(map(str, facts["tokens"])), "--output-tokens", "--ignore-eos",
                             "--temp", "0", "--numerics", "exact", "--kv-type", "f32", "--device", "cpu", "-n",
                             len(facts["greedy"])).stdout
            self.assertEqual([int(word) for word in text.split()], facts["greedy"], name)

    def test_every_mix_runs(self):
        usage = self.puna("quantize", "--help").stdout
        mixes = [word.strip(",.") for word in usage.split("throughout:")[1].split("Options:")[0].split() if not word[0].isupper()]
        self.assertGreaterEqual(set(mixes), {"f32", "f16", "bf16", "q4_0", "q4_1", "q8_0", "q4_k_s", "q4_k_m", "q6_k"})
        for mix in [*mixes, "q4_k", "pure:q6_k"]:
            with self.subTest(mix=mix):
                done = self.puna("quantize", GOLDENS / "llama-q4_k_m.gguf", "out.gguf", mix)
                self.assertRegex(done.stdout, r"^out\.gguf: \d+ tensors, .* to .*, \d+\.\d\d bits per weight\n$")
                self.assertEqual(self.puna("run", "out.gguf", "Hi", "--raw", "-n", "2", "--device", "cpu").stderr, "")
        self.assertEqual(sorted(p.name for p in self.path.glob("*.gguf*")), ["out.gguf"])

    def test_requantizing_is_said(self):
        self.assertIn("q4_0", self.puna("quantize", GOLDENS / "llama-q4_0.gguf", "out.gguf", "q8_0").stderr)
        self.assertEqual(self.puna("quantize", GOLDENS / "llama-q4_0.gguf", "out.gguf", "f16").stderr.count("lose"), 0)

    def test_the_input_is_never_written(self):
        data = (GOLDENS / "llama-q4_0.gguf").read_bytes()
        here = self.path / "in.gguf"
        here.write_bytes(data)
        (self.path / "link.gguf").symlink_to(here)
        (self.path / "hard.gguf").hardlink_to(here)
        (self.path / "in.gguf.part").write_bytes(data)
        for source, out in [("in.gguf", "in.gguf"), ("in.gguf", "./in.gguf"), ("in.gguf", "link.gguf"), ("link.gguf", "in.gguf"),
                            ("in.gguf", "hard.gguf"), ("in.gguf.part", "in.gguf")]:
            self.assertIn("error: ", self.puna("quantize", source, out, "q8_0", code=2).stderr)
        self.assertEqual((here.read_bytes(), (self.path / "in.gguf.part").read_bytes()), (data, data))

    def test_what_cannot_be_written(self):
        done = self.puna("quantize", GOLDENS / "llama-q4_0.gguf", "none/out.gguf", "q8_0", code=1)
        self.assertIn("none/out.gguf", done.stderr)
        done = self.puna("quantize", GOLDENS / "llama-q4_0.gguf", self.path, "q8_0", code=2)
        self.assertIn("folder", done.stderr)
        done = self.puna("quantize", GOLDENS / "llama-q4_0.gguf", "out.gguf", "q9_z", code=2)
        self.assertIn('"q9_z"', done.stderr)
        self.assertIn("q4_k_m", done.stderr)
        broken = (GOLDENS / "llama-q4_0.gguf").read_bytes()[:-1000]
        (self.path / "broken.gguf").write_bytes(broken)
        self.puna("quantize", "broken.gguf", "out.gguf", "q8_0", code=1)
        self.assertEqual(list(self.path.glob("out.gguf*")), [])


if __name__ == "__main__":
    unittest.main()
