#!/usr/bin/env python3
"""puna convert, and folders as models: the GGUF file of a folder computes the same bits. usage: convert_test.py PUNA"""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PUNA = sys.argv.pop(1)
TESTS = Path(__file__).resolve().parent.parent
GOLDENS = TESTS / "goldens"
# Tokenizers as tests/fixtures/tokenizer has them, and the ids they put around a text.
FRAMES = {"hf_byte_level": ([], []), "hf_sentencepiece": ([1], []), "hf_unigram": ([0], [2]), "hf_word_piece": ([2], [3])}
FOLDERS = ["small_llama-bf16", "small_qwen3moe-bf16", "small_deepseek3-bf16", "small_minicpm3-bf16", "small_jamba-bf16", "small_qwen35-bf16",
           "small_mpt-bf16", "small_rwkv6_hf-bf16", "small_rwkv7_fla-bf16"]


def run(*arguments):
    return subprocess.run([PUNA, *map(str, arguments)], capture_output=True, text=True, timeout=120)


class Convert(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.out = Path(self.scratch.name) / "out.gguf"

    def tearDown(self):
        self.scratch.cleanup()

    def logits(self, model):
        path = Path(self.scratch.name) / "x.npy"
        done = run("logits", "--model", model, "--tokens", "5,17,99,100,3", "--output", path, "--device", "cpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        return path.read_bytes()

    def convert(self, *arguments):
        done = run("convert", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def types(self):
        tensors = json.loads(run("inspect", self.out, "--json").stdout)["tensors"]
        return {t["name"]: t["type"] for t in tensors}

    def test_the_file_computes_what_the_folder_does(self):
        for name in FOLDERS:
            with self.subTest(name):
                self.convert(GOLDENS / name, self.out, "--force")
                self.assertEqual(self.logits(self.out), self.logits(GOLDENS / name))
                self.assertEqual(self.types()["blk.0.attn_norm.weight"], "f32")
                self.assertEqual(self.types()["token_embd.weight"], "bf16")

    def test_mlc_weights_become_q4_0_of_the_same_values(self):
        folder = GOLDENS / "small_llama-q4f16_1"
        self.convert(folder, self.out)
        self.assertEqual(self.types()["blk.1.attn_q.weight"], "q4_0")
        exact = Path(self.scratch.name) / "exact.gguf"
        self.convert(folder, exact, "--type", "f32")
        again = Path(self.scratch.name) / "again.gguf"
        self.assertEqual(run("quantize", self.out, again, "f32").returncode, 0)
        self.assertEqual(self.logits(again), self.logits(exact))

    def test_a_type_can_be_asked_for(self):
        self.convert(GOLDENS / FOLDERS[0], self.out, "--type", "q8_0")
        self.assertEqual(self.types()["blk.0.ffn_up.weight"], "q8_0")

    def test_a_file_is_replaced_only_when_asked(self):
        self.out.write_text("kept")
        done = run("convert", GOLDENS / FOLDERS[0], self.out)
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists already", done.stderr)
        self.assertEqual(self.out.read_text(), "kept")
        self.convert(GOLDENS / FOLDERS[0], self.out, "--force")

    def test_what_cannot_be_converted_is_said(self):
        empty = Path(self.scratch.name) / "empty"
        empty.mkdir()
        for folder, wanted in ((empty, "holds neither config.json"), (empty / "no", "There is no file or folder")):
            done = run("convert", folder, self.out)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.startswith("error: "))
            self.assertIn(wanted, done.stderr)
            self.assertFalse(self.out.exists())
        done = run("convert", GOLDENS / FOLDERS[0], self.out, "--type", "q9")
        self.assertEqual(done.returncode, 2)
        self.assertIn('"q9" is no type', done.stderr)

    def test_a_folder_is_inspected_like_a_file(self):
        done = run("inspect", GOLDENS / "small_llama-q4f16_1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("q4f16_1", done.stdout)
        self.assertIn("architecture  llama", done.stdout)

    def ids(self, model, text):
        done = subprocess.run([PUNA, "tokenize", "--model", model, "--json"], input=text.encode(), capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def folder_with(self, fixture):
        """A golden folder with the tokenizer of a fixture in place of its own."""
        folder = Path(self.scratch.name) / fixture.stem
        shutil.copytree(GOLDENS / FOLDERS[0], folder)
        facts = json.loads(fixture.read_text())
        (folder / "tokenizer.json").write_text(json.dumps(facts["tokenizer"]))
        (folder / "tokenizer_config.json").write_text(json.dumps(facts["config"]))
        return folder, facts

    def test_the_tokenizer_goes_along(self):
        for name, (first, last) in FRAMES.items():
            with self.subTest(name):
                folder, facts = self.folder_with(TESTS / f"fixtures/tokenizer/{name}.json")
                self.convert(folder, self.out, "--force")
                for model in (folder, self.out):
                    self.assertEqual(self.ids(model, "the end"), facts["framed"])
                    for text, ids in list(zip(facts["texts"], facts["ids"]))[::8]:
                        self.assertEqual(self.ids(model, text), [*first, *ids, *last], text)

    def test_the_chat_template_goes_along(self):
        template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"
        for place in ("tokenizer_config.json", "chat_template.jinja"):
            with self.subTest(place):
                folder = Path(self.scratch.name) / place
                shutil.copytree(GOLDENS / FOLDERS[0], folder)
                config = json.loads((folder / "tokenizer_config.json").read_text())
                if place == "chat_template.jinja":
                    (folder / place).write_text(template)
                else:
                    (folder / place).write_text(json.dumps(config | {"chat_template": template}))
                self.convert(folder, self.out, "--force")
                answers = [run("run", model, "Hello", "--temp", "0", "-n", "8", "--device", "cpu", "--ignore-eos", "--output-tokens") for model in (folder, self.out)]
                plain = run("run", GOLDENS / FOLDERS[0], "[user]Hello[assistant]", "--raw", "--temp", "0", "-n", "8", "--device", "cpu", "--ignore-eos", "--output-tokens")
                for answer in (*answers, plain):
                    self.assertEqual(answer.returncode, 0, answer.stderr)
                    self.assertEqual(answer.stdout, plain.stdout)


if __name__ == "__main__":
    unittest.main()
