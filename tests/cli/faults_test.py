#!/usr/bin/env python3
"""What a command does not need cannot stop it: files with a fault in their vocabulary, a key or a tensor. usage: faults_test.py PUNA"""
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tiny_gguf import ARRAY, U32, Gguf

PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
MODEL = Path(__file__).resolve().parent.parent / "goldens/llama-f16.gguf"
I32, I16 = 5, 3
TOKENS = ["--tokens", "5,17,99"]


def run(*arguments):
    return subprocess.run([PUNA, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def numbers(kind, layout, values):
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + struct.pack(f"<{len(values)}{layout}", *values)


class Faults(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.model = Gguf(MODEL)

    def tearDown(self):
        self.scratch.cleanup()

    def saved(self):
        return self.model.save(self.folder / "model.gguf")

    def logits(self, model):
        out = self.folder / "out.npy"
        done = run("logits", "--model", model, *TOKENS, "--output", out, "--device", "cpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        return out.read_bytes(), done.stderr

    def check_usable(self, model, warning):
        """Everything that needs no text works, with one line that says what is wrong."""
        got, said = self.logits(model)
        self.assertEqual(got, self.logits(MODEL)[0])
        self.assertEqual(said.count(warning), 1, said)
        for arguments in (["inspect", model], ["run", model, *TOKENS, "-n", "2", "--temp", "0", "--output-tokens", "--device", "cpu"],
                          ["quantize", model, self.folder / "q.gguf", "q8_0"]):
            with self.subTest(arguments[0]):
                done = run(*arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count(warning), 1, done.stderr)

    def test_a_vocabulary_that_cannot_be_read_stops_only_texts(self):
        self.model.set("tokenizer.ggml.tokens", U32, 7)
        model, warning = self.saved(), '"tokenizer.ggml.tokens" is 7 (an unsigned integer), not a list of strings'
        self.check_usable(model, warning)
        for arguments in (["tokenize", "--model", model, "a"], ["run", model, "a", "--raw", "--device", "cpu"]):
            done = run(*arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(warning, done.stderr)

    def test_numbers_of_other_kinds_and_unknown_lists_change_nothing(self):
        kinds = {U32: "I", I32: "i", I16: "h", 10: "Q"}
        (count,) = struct.unpack("<I", self.model.pairs["llama.attention.head_count"][4:])
        for kind, layout in kinds.items():
            self.model.pairs["llama.attention.head_count"] = struct.pack(f"<I{layout}", kind, count)
            self.assertEqual(self.logits(self.saved()), self.logits(MODEL))
        self.model.pairs["custom.lists"] = struct.pack("<IIQ", ARRAY, ARRAY, 1) + numbers(I16, "h", [1, 2])[4:]
        self.assertEqual(self.logits(self.saved()), self.logits(MODEL))

    def test_a_git_lfs_pointer_is_called_so(self):
        pointer = self.folder / "model.gguf"
        pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 98362432\n")
        done = run("inspect", pointer)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Git LFS pointer", done.stderr)

    def test_every_id_of_a_list_of_end_tokens_ends_the_reply(self):
        del self.model.pairs["tokenizer.ggml.eos_token_id"]
        arguments = [*TOKENS, "-n", "3", "--temp", "0", "--numerics", "exact", "--output-tokens", "--stats", "--device", "cpu"]
        first = run("run", self.saved(), *arguments).stdout.split()[0]
        self.model.pairs["tokenizer.ggml.eos_token_ids"] = numbers(I32, "i", [int(first), 999999])
        done = run("run", self.saved(), *arguments)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, ""), done.stderr)
        self.assertIn("stop=end", done.stderr)
        self.assertEqual(done.stderr.count("999999"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
