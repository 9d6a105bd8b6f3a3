#!/usr/bin/env python3
"""Runs `puna perplexity` on a tiny model: its figures beside those of `puna logits`, bases of log-probabilities, texts and files that do not fit.

usage: tests/cli/perplexity_test.py PUNA
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
MODEL = str(GOLDENS / "llama-q4_0.gguf")
OTHER = str(GOLDENS / "gemma3-q8_0.gguf")
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
TEXT = " ".join(f"{i} times {i + 1} is {i * (i + 1)}, a < b > c." for i in range(40))


def read_npy(path):
    """The rows of a float32 matrix."""
    data = Path(path).read_bytes()
    (n,) = struct.unpack_from("<H", data, 8)
    rows, columns = eval(data[10 : 10 + n].decode())["shape"]  # noqa: S307 (our own file)
    values = struct.unpack_from(f"<{rows * columns}f", data, 10 + n)
    return [values[i * columns : (i + 1) * columns] for i in range(rows)]


class Perplexity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        cls.env = {**os.environ, "PUNA_HOME": str(cls.path / "home")}
        (cls.path / "text.txt").write_text(TEXT)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_puna(self, *args, stdin=""):
        return subprocess.run([PUNA, *map(str, args)], input=stdin, capture_output=True, text=True, errors="replace",
                              cwd=self.path, env=self.env, timeout=60)

    def measure(self, *args, model=MODEL, **kwargs):
        return self.run_puna("perplexity", *args, "--model", model, "--device", "cpu", "--threads", 2, **kwargs)

    def json(self, *args, **kwargs):
        done = self.measure(*args, "--json", **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_fails(self, code, said, *args, **kwargs):
        with self.subTest(args=args):
            done = self.measure(*args, **kwargs)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stdout, "")
            lines = done.stderr.splitlines()
            self.assertTrue(lines[-1].startswith("error: "), done.stderr)
            for piece in [said] if isinstance(said, str) else said:
                self.assertIn(piece, lines[-1])

    def test_figures_are_those_of_the_logits(self):
        n_ctx = 32
        got = self.json("text.txt", "--ctx", n_ctx, "--chunks", 3, "--numerics", "exact", "--kv-type", "f32")
        ids = json.loads(self.run_puna("tokenize", "--model", MODEL, "--json", stdin=TEXT).stdout)
        bos = ids[0]
        nll = []
        for chunk in range(3):
            tokens = ids[chunk * n_ctx : (chunk + 1) * n_ctx]
            given = [bos, *tokens[1:]]
            done = self.run_puna("logits", "--model", MODEL, "--device", "cpu", "--tokens", ",".join(map(str, given)), "--output", "x.npy")
            self.assertEqual(done.returncode, 0, done.stderr)
            for position, row in enumerate(read_npy(self.path / "x.npy")):
                if position < n_ctx // 2 or position == n_ctx - 1:
                    continue
                most = max(row)
                nll.append(math.log(sum(math.exp(v - most) for v in row)) + most - row[tokens[position + 1]])
        mean = sum(nll) / len(nll)
        self.assertEqual(got["n_counted"], len(nll))
        self.assertAlmostEqual(got["perplexity"]["value"] / math.exp(mean), 1, places=5)
        variance = sum(v * v for v in nll) / len(nll) - mean * mean
        self.assertAlmostEqual(got["perplexity"]["error"] / (math.exp(mean) * math.sqrt(variance / (len(nll) - 1))), 1, places=4)
        self.assertEqual((got["n_ctx"], got["n_chunks"], got["numerics"], got["kv_type"]), (n_ctx, 3, "exact", "f32"))

    def test_output(self):
        done = self.measure("text.txt", "--ctx", 64)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^Final estimate: PPL = \d+\.\d{4} \+/- \d+\.\d{5}\n$")
        self.assertRegex(done.stderr, r"^\[1\]\d+\.\d{4},\[2\]\d+\.\d{4},.*\n$")
        again = self.measure("-", "--ctx", 64, stdin=TEXT)
        self.assertEqual((again.stdout, again.stderr), (done.stdout, done.stderr))
        self.assertEqual(self.json("text.txt", "--ctx", 64)["numerics"], "fast")

    def test_a_base_compares_and_is_of_one_text_and_vocabulary(self):
        exact = ["--numerics", "exact", "--kv-type", "f32"]
        saved = self.json("text.txt", "--ctx", 48, "--kl-save", "base.kld", *exact)
        self.assertNotIn("base", saved)
        data = (self.path / "base.kld").read_bytes()
        n_ctx, n_vocab, n_chunks = struct.unpack_from("<3i", data, 8)
        self.assertEqual((data[:8], n_ctx, n_chunks), (b"_logits_", 48, saved["n_chunks"]))
        self.assertEqual(len(data), 20 + 4 * n_chunks * n_ctx + 2 * n_chunks * 23 * (4 + n_vocab + n_vocab % 2))

        # The chunks are the base's without --ctx, and so is the text without FILE.
        for args in [["text.txt"], ["text.txt", "--ctx", 48], []]:
            own = self.json(*args, "--kl-base", "base.kld", *exact)
            self.assertEqual(own["n_counted"], saved["n_counted"])
            self.assertEqual(own["perplexity"], saved["perplexity"])
            self.assertLess(own["base"]["kl"]["max"], 1e-6)
            self.assertEqual(own["base"]["same_first"]["value"], 1)
        fast = self.json("text.txt", "--kl-base", "base.kld")["base"]
        self.assertGreater(fast["kl"]["value"], 1e-7)
        self.assertLess(fast["kl"]["value"], 0.1)
        self.assertLessEqual(fast["kl"]["median"], fast["kl"]["p90"])
        self.assertLessEqual(fast["kl"]["p99.9"], fast["kl"]["max"])
        done = self.measure("text.txt", "--kl-base", "base.kld", "--chunks", 2)
        for what in ["Mean KL divergence", "Median KL divergence", "99.9 % KL divergence", "RMS change of p", "Same first choice", "Base PPL"]:
            self.assertIn(what, done.stdout)
        self.assertIn("Final estimate", done.stdout.splitlines()[-1])

        self.check_fails(1, ["48", "32"], "text.txt", "--ctx", 32, "--kl-base", "base.kld")
        self.check_fails(1, "vocabulary", "text.txt", "--kl-base", "base.kld", model=OTHER)
        self.check_fails(1, "another text", "-", "--kl-base", "base.kld", stdin=TEXT.replace("10", "11"))
        self.check_fails(1, f"--chunks {n_chunks}", "-", "--kl-base", "base.kld", stdin=TEXT + TEXT)
        for name, content in [("short.kld", data[:-1]), ("head.kld", data[:10]), ("none.kld", b""), ("text.kld", TEXT.encode())]:
            (self.path / name).write_bytes(content)
            self.check_fails(1, name, "text.txt", "--kl-base", name)
        self.check_fails(1, "no-such.kld", "text.txt", "--kl-base", "no-such.kld")

    def test_texts_and_values_that_do_not_fit(self):
        self.check_fails(1, ["tokens, but a chunk has 64"], "-", "--ctx", 64, stdin="Hello")
        self.check_fails(1, "is empty", "-", stdin="")
        self.check_fails(1, "no-such.txt", "no-such.txt")
        self.check_fails(1, str(self.path), self.path)
        self.check_fails(1, "Chunks of 2 tokens", "text.txt", "--ctx", 2)
        self.check_fails(1, ["9999 chunks"], "text.txt", "--ctx", 16, "--chunks", 9999)
        self.check_fails(1, "no-such-folder", "text.txt", "--ctx", 16, "--kl-save", "no-such-folder/x.kld")
        self.check_fails(2, "FILE")
        for value in ["0", "-1", "x"]:
            self.check_fails(2, value, "text.txt", f"--chunks={value}")
        # A run that fails leaves no base behind.
        self.check_fails(1, "tokens, but", "-", "--ctx", 64, "--kl-save", "left.kld", stdin="Hello")
        self.assertEqual(list(self.path.glob("left.kld*")), [])


if __name__ == "__main__":
    unittest.main()
