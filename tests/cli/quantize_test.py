#!/usr/bin/env python3
"""`puna quantize` over the models of tests/goldens: what it writes runs, and holds what the type's definition says.

usage: tests/cli/quantize_test.py PUNA

The encodings of q8_0 and q4_0 are computed here a second time; those of the other types, and what type a mix gives which tensor, are
tested in src/quant.
"""
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tiny_gguf import ARRAY, SCALARS, STRING, U32, Gguf, value, write_gguf

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


def random_scalar(dice, kind):
    if kind == STRING:
        return "".join(dice.choice("aZ0 \n\0é語😀") for _ in range(dice.randrange(12)))
    if kind == 7:
        return dice.randrange(2)
    size = struct.calcsize(SCALARS[kind])
    if kind in (6, 12):
        return dice.choice([0.0, -0.0, 0.1, 1e30, math.inf, math.nan, dice.gauss(0, 1)])
    return struct.unpack(SCALARS[kind], dice.randbytes(size))[0]


def random_value(dice):
    """Type and value, of every kind: numbers, flags, texts and lists of them, empty ones too."""
    kind = dice.choice([*SCALARS, STRING])
    if dice.randrange(2):
        return value(kind, random_scalar(dice, kind))
    return value(ARRAY, [random_scalar(dice, kind) for _ in range(dice.randrange(6))], kind)


def floats(dice, n, kind=F32):
    return struct.pack(f"<{n}{'f' if kind == F32 else 'e'}", *(dice.gauss(0, 0.05) for _ in range(n)))


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
        for source, out in [("in.gguf", "in.gguf"), ("in.gguf", "./in.gguf"), ("in.gguf", "link.gguf"), ("link.gguf", "in.gguf"),
                            ("in.gguf", "hard.gguf")]:
            self.assertIn("destroy", self.puna("quantize", source, out, "q8_0", code=2).stderr)
        self.assertEqual(here.read_bytes(), data)

    def test_every_key_arrives_as_it_was(self):
        for seed in range(20):
            dice = random.Random(seed)
            pairs = {"general.architecture": value(STRING, "any")}
            for i in range(dice.randrange(1, 25)):
                pairs[f"{dice.choice(['custom', 'general', 'tokenizer.any', 'ключ'])}.{i}"] = random_value(dice)
            ours = {"general.file_type": value(U32, 1), "general.quantization_version": value(U32, 2)}
            for key in ours:
                if dice.randrange(2):
                    pairs[key] = random_value(dice)  # replaced where it stands
            alignment = dice.choice([8, 32, 256])
            if alignment != 32 or dice.randrange(2):
                pairs["general.alignment"] = value(U32, alignment)
            names = list(pairs)
            dice.shuffle(names)
            pairs = {name: pairs[name] for name in names}
            tensors = [(f"blk.{i}.ffn_up.weight", [32, 3], F16, floats(dice, 96, F16)) for i in range(2)] + [("norm.weight", [5], F32, floats(dice, 5))]
            write_gguf(self.path / "in.gguf", pairs, tensors, alignment)
            with self.subTest(seed=seed, pairs=pairs):
                self.puna("quantize", "in.gguf", "out.gguf", "f16")
                self.assertEqual(list(Gguf(self.path / "out.gguf").pairs.items()), list((pairs | ours).items()))
                # All of it, data and layout too.
                write_gguf(self.path / "want.gguf", pairs | ours, tensors, alignment)
                self.assertEqual((self.path / "out.gguf").read_bytes(), (self.path / "want.gguf").read_bytes())

    def test_parts_become_one_file(self):
        dice = random.Random(1)
        pairs = {"general.architecture": value(STRING, "any"), "custom.bytes": value(ARRAY, [1, 255], 0)}
        tensors = [(f"blk.{i}.ffn_up.weight", [32, 3], F32, floats(dice, 96)) for i in range(5)]
        parts = [[], tensors[:2], tensors[2:]]
        for i, part in enumerate(parts):
            split = {"split.no": value(2, i), "split.tensors.count": value(5, 5), "split.count": value(2, 3)}
            write_gguf(self.path / f"in-{i + 1:05}-of-00003.gguf", split | pairs if i == 0 else split, part)
        before = [path.read_bytes() for path in sorted(self.path.glob("in-*"))]
        for i in range(3):
            done = self.puna("quantize", "in-00001-of-00003.gguf", f"in-{i + 1:05}-of-00003.gguf", "q8_0", code=2)
            self.assertIn("destroy", done.stderr)
        self.assertEqual([path.read_bytes() for path in sorted(self.path.glob("in-*"))], before)
        self.puna("quantize", "in-00002-of-00003.gguf", "out.gguf", "f32")
        write_gguf(self.path / "want.gguf", pairs | {"general.file_type": value(U32, 0), "general.quantization_version": value(U32, 2)}, tensors)
        self.assertEqual((self.path / "out.gguf").read_bytes(), (self.path / "want.gguf").read_bytes())

    def test_tensors_of_a_type_that_is_not_known_are_copied(self):
        dice = random.Random(2)
        tensors = [("before.weight", [32, 3], F32, floats(dice, 96)), ("future.weight", [5, 7], 77, dice.randbytes(45)),
                   ("behind.weight", [32, 2], F32, floats(dice, 64)), ("last.weight", [5], 78, dice.randbytes(33))]
        write_gguf(self.path / "in.gguf", {"general.architecture": value(STRING, "any")}, tensors)
        done = self.puna("quantize", "in.gguf", "out.gguf", "q8_0")
        self.assertIn("type 77", done.stderr)
        after = Gguf(self.path / "out.gguf")
        self.assertEqual([t[:3] for t in after.tensors], [("before.weight", [32, 3], Q8_0), ("future.weight", [5, 7], 77), ("behind.weight", [32, 2], Q8_0), ("last.weight", [5], 78)])
        for name, data in [("future.weight", tensors[1][3]), ("last.weight", tensors[3][3])]:
            _, _, copied = tensor_bytes(after, name)
            self.assertEqual(copied[: len(data)], data)

    def test_what_does_not_fit_is_said(self):
        dice = random.Random(3)
        tensors = [(f"blk.{i}.ffn_up.weight", [n, 2], F32, floats(dice, 2 * n)) for i, n in enumerate([256, 32, 32, 96, 20])] + [("output_norm.weight", [20], F32, floats(dice, 20))]
        write_gguf(self.path / "in.gguf", {"general.architecture": value(STRING, "any")}, tensors)
        for kind in ["pure:q4_k", "q4_k_m"]:
            done = self.puna("quantize", "in.gguf", "out.gguf", kind)
            lines = [f"{n} of 6 tensors: rows of {columns} do not fit q4_k (blocks of 256), {taken} is taken instead."
                     for n, columns, taken in [(1, 20, "f16"), (2, 32, "q5_0"), (1, 96, "q5_0")]]
            self.assertEqual(done.stderr.splitlines(), lines)
            self.assertEqual([t[2] for t in Gguf(self.path / "out.gguf").tensors], [12, 6, 6, 6, F16, F32])
        self.assertEqual(self.puna("quantize", "in.gguf", "out.gguf", "f16").stderr, "")

    def test_weights_that_are_no_numbers_are_refused_by_place(self):
        for name, shape, place, where in [("blk.0.ffn_up.weight", [32, 3], 65, "[2, 1] of [3, 32]"), ("output_norm.weight", [32], 7, "[7] of [32]")]:
            for bad, said in [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")]:
                values = [0.25] * math.prod(shape)
                values[place] = bad
                values[-1] = math.nan  # the first is named
                write_gguf(self.path / "in.gguf", {"general.architecture": value(STRING, "any")}, [(name, shape, F32, struct.pack(f"<{len(values)}f", *values))])
                for command in [["quantize", "in.gguf", "out.gguf", "q8_0"], ["quantize", "in.gguf", "out.gguf", "f32"], ["convert", "in.gguf", "out.gguf"]]:
                    done = self.puna(*command, code=1)
                    self.assertIn(f'error: Tensor "{name}" is {said} at {where}', done.stderr)
                    self.assertEqual(sorted(p.name for p in self.path.iterdir()), ["in.gguf"])

    def test_a_weight_too_large_for_its_type_is_refused(self):
        values = [0.0] * 64
        for large, kind, code in [(65504.0, "f16", 0), (65519.0, "f16", 0), (65520.0, "f16", 1), (-1e5, "f16", 1), (3.39e38, "bf16", 0), (3.4e38, "bf16", 1), (3.4e38, "f32", 0)]:
            values[40] = large
            write_gguf(self.path / "in.gguf", {"general.architecture": value(STRING, "any")}, [("output.weight", [32, 2], F32, struct.pack("<64f", *values))])
            done = self.puna("quantize", "in.gguf", "out.gguf", kind, code=code)
            if code:
                self.assertIn("at [1, 8] of [2, 32]", done.stderr)
                self.assertIn(f"too large for {kind}", done.stderr)

    def test_a_tokenizer_as_json_stays(self):
        folder = self.path / "folder"
        shutil.copytree(GOLDENS / "small_llama-bf16", folder)
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["normalizer"] = {"type": "Lowercase"}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.puna("convert", "folder", "converted.gguf")
        self.puna("quantize", "converted.gguf", "out.gguf", "q8_0")
        self.assertIn("tokenizer.huggingface.json", Gguf(self.path / "out.gguf").pairs)
        ids = [self.puna("tokenize", "--model", model, "HELLO World").stdout for model in ["folder", "converted.gguf", "out.gguf"]]
        self.assertEqual(ids, ids[:1] * 3)
        self.assertEqual(ids[0], self.puna("tokenize", "--model", "out.gguf", "hello world").stdout)

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
