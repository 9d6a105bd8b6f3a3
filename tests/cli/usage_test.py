#!/usr/bin/env python3
"""Runs the program with many command lines, most of them wrong: exit code, one `error: ...` line that names the value, nothing else.

usage: tests/cli/usage_test.py PUNA
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tiny_gguf import STRING, U32, Gguf

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
MODEL = str(GOLDENS / "llama-q4_0.gguf")
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())


class Usage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        # GPU drivers leave memory behind at exit, which a build with sanitizers would report.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        foreign = ("PUNA_", "LLAMA_", "OLLAMA_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        cls.env = {**clean, "PUNA_HOME": str(cls.path / "home"), "ASAN_OPTIONS": sanitizer}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_puna(self, *args, stdin="", **kwargs):
        return subprocess.run([PUNA, *map(str, args)], input=stdin, capture_output=True, text=True, errors="replace",
                              cwd=self.path, env=self.env, timeout=60, **kwargs)

    def check_fails(self, code, said, *args, **kwargs):
        """The command fails with `code` and one line on stderr that holds every piece of `said`."""
        with self.subTest(args=args):
            done = self.run_puna(*args, **kwargs)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stdout, "")
            lines = done.stderr.splitlines()
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertTrue(lines[0].startswith("error: "), lines[0])
            for piece in [said] if isinstance(said, str) else said:
                self.assertIn(piece, lines[0])

    def test_names_that_do_not_exist(self):
        self.check_fails(2, 'unknown command "foo"', "foo")
        self.check_fails(2, ['unknown command "rnu"', '"run"'], "rnu", "x.gguf")
        self.check_fails(2, ['unknown command "quantise"', '"quantize"'], "quantise", "--help")
        self.check_fails(2, 'unknown command ""', "")
        self.check_fails(2, 'unknown option "--foo"', "--foo")
        self.check_fails(2, ['unknown option "--tmep"', '"--temp"', "puna run --help"], "run", MODEL, "Hi", "--tmep", "1")
        self.check_fails(2, ['unknown option "--tmep"'], "run", "--tmep=1")
        self.check_fails(2, 'unknown option "-z" - See', "devices", "-z")
        self.check_fails(2, 'unknown option "-m" - See', "run", "-m", MODEL)
        self.check_fails(2, ['unknown command "ls"', '"list"'], "ls")
        self.check_fails(2, ['unknown command "help"', '"--help"'], "help")
        self.check_fails(2, '"three" is one argument too many', "run", MODEL, "two", "three")
        self.check_fails(2, '"x" is one argument too many', "devices", "x")

    def test_addresses_are_pulled(self):
        self.check_fails(1, ["https://localhost/a/b.gguf", "puna pull"], "run", "https://localhost/a/b.gguf", "Hi")

    def test_what_is_missing(self):
        done = self.run_puna()
        self.assertEqual(done.returncode, 2)
        self.assertIn("error: ", done.stderr)
        for command, what in [("run", "MODEL"), ("pull", "MODEL"), ("push", "MODEL"), ("rm", "MODEL"), ("cp", "FROM"), ("stop", "MODEL"), ("launch", "PROGRAM"), ("completions", "SHELL"), ("inspect", "MODEL"), ("logits", "--model"),
                              ("tokenize", "--model"), ("detokenize", "--model"), ("quantize", "IN"), ("bench", "--model")]:
            self.check_fails(2, what, command)
        self.check_fails(2, "--tokens", "logits", "--model", MODEL, "--output", "x.npy")
        self.check_fails(2, "--output", "logits", "--model", MODEL, "--tokens", "1")
        self.check_fails(2, "TYPE", "quantize", MODEL, "out.gguf")
        self.check_fails(2, "--temp", "run", MODEL, "Hi", "--temp")

    def test_what_is_not_there_yet(self):
        for kind in ["iq2_xxs", "IQ3_M", "mxfp4", "pure:tq1_0"]:
            self.check_fails(2, [kind.removeprefix("pure:"), "not supported yet"], "quantize", MODEL, "out.gguf", kind)

    def test_help_names_what_there_is_and_nothing_else(self):
        done = self.run_puna("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        commands = [line.split()[0] for line in done.stdout.split("Subcommands:")[1].splitlines() if line.startswith("  ")]
        self.assertIn("run", commands)
        for command in commands:
            done = self.run_puna(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIn(f"Example: puna {command}", done.stdout)
        self.assertRegex(self.run_puna("--version").stdout, r"^puna \d+\.\d+\.\d+\n$")

    def test_values_of_flags(self):
        for device in ["foo", "GPU", "gpu:", "gpu:x", "gpu:-1", "gpu:1x"]:
            self.check_fails(2, f'"{device}"', "run", MODEL, "Hi", f"--device={device}")
        # Before anything is fetched or opened:
        self.check_fails(2, '"foo"', "run", "smollm2", "Hi", "--device", "foo")
        self.check_fails(2, '"foo"', "selftest", "--device", "foo")
        self.check_fails(1, "99", "run", MODEL, "Hi", "--device", "gpu:99")
        self.check_fails(2, "mmx", "run", MODEL, "Hi", "--cpu-variant", "mmx")
        for layers in ["x", "-1", "1.5", "99999999999"]:
            self.check_fails(2, "auto or a number", "run", MODEL, "Hi", f"--gpu-layers={layers}")
            self.check_fails(2, "auto, all or a number", "run", MODEL, "Hi", f"--cpu-experts={layers}")
        self.check_fails(1, ["--cpu-experts", "the model has none"], "run", MODEL, "Hi", "--device", "cpu", "--cpu-experts", "1")
        self.check_fails(1, "is the CPU", "run", MODEL, "Hi", "--device", "cpu", "--gpu-layers", "1")
        for flag, value in [("--temp", "hot"), ("--temp", "-1"), ("--temp", "nan"), ("--temp", "inf"), ("--top-k", "-3"),
                            ("--top-k", "1.5"), ("--top-p", "2"), ("--top-p", "-0.5"), ("--min-p", "7"), ("--seed", "x"),
                            ("--repeat-penalty", "0"), ("--repeat-penalty", "-1"), ("--presence-penalty", "101"),
                            ("--frequency-penalty", "nan"), ("--repeat-last", "-1"), ("--logit-bias", "5"), ("--logit-bias", "x=1"),
                            ("--logit-bias", "5=high"), ("-n", "-5"), ("-n", "many"),
                            ("--kv-type", "q9"), ("--numerics", "sloppy"), ("--ctx", "-1"), ("--ctx", "99999999999"),
                            ("--threads", "0"), ("--threads", "5000"), ("--gpu-features", "some")]:
            self.check_fails(2, value, "run", MODEL, "Hi", f"{flag}={value}" if flag[1] == "-" else f"{flag}{value}")
        for bias, said in [("-5=1", "token -5"), ("5=inf", "token 5 is inf"), ("5=nan", "token 5 is nan")]:
            self.check_fails(2, said, "run", MODEL, "Hi", f"--logit-bias={bias}")
        self.check_fails(2, "Token 5", "run", MODEL, "Hi", "--logit-bias", "5=1", "--logit-bias", "5=2")
        self.check_fails(1, ["99999", "0 to"], "run", MODEL, "--tokens=1", "--device=cpu", "--logit-bias", "99999=1")
        self.check_fails(2, "cpu", "bench", "--model", MODEL, "--sampling=cpu")
        for ids in ["1,x", "-1", "1;2", "99999999999", "1,,2", ",1", "1x", "0x1", "1.5"]:
            self.check_fails(2, ["--tokens", "is no token id"], "run", MODEL, f"--tokens={ids}")
        self.check_fails(2, "after the last comma", "run", MODEL, "--tokens", "1,2,")
        self.check_fails(2, "No token ids", "logits", "--model", MODEL, "--tokens", " ", "--output", "x.npy")
        for n, stop in [("0", "length"), ("2", "length"), ("-1", "context")]:
            done = self.run_puna("run", MODEL, "Hi", "--raw", "--ignore-eos", "--ctx", "16", "--device", "cpu", "--stats", "-n", n)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"stop={stop}", done.stderr)

    def test_bench(self):
        for shape in ["llama3.2-1b", "llama9-9b:q4_0", ":q4_0", "llama3.2-1b:", "llama3.2-1b:q9", "llama3.2-1b:pure:q9",
                      "llama3.2-1b:pure:", "llama3.2-1b:q4_0:q4_0", "smollm2-135m:pure:q4_k"]:
            self.check_fails(2, shape.split(":")[-1] or ":", "bench", "--synthetic", shape)
        self.check_fails(2, "--model", "bench", "--model", MODEL, "--synthetic", "llama3.2-1b:q4_0")
        self.check_fails(2, "-p 0", "bench", "--model", MODEL, "-p", "0", "-n", "0")
        self.check_fails(2, ["-p", "x"], "bench", "--model", MODEL, "-p", "4,x")
        self.check_fails(2, "one -p and one -n", "bench", "--model", MODEL, "--parallel", "2", "-p", "4,8")
        done = self.run_puna("bench", "--synthetic", "tiny:q8_0", "--device", "cpu", "-p", "3,5", "-n", "0,2", "-d", "0,4", "-r", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["phase"], r["tokens"], r["depth"]) for r in json.loads(done.stdout)["results"]],
                         [(phase, n, depth) for depth in (0, 4) for phase, n in (("prefill", 3), ("prefill", 5), ("decode", 2))])
        for flag in (["--hops"], ["--types", "q4_0"]):
            self.check_fails(2, "take no model", "bench", "--model", MODEL, *flag)
            self.check_fails(1, "is for GPUs", "bench", "--device", "cpu", *flag)
        for flag, value in [("-p", "-1"), ("-r", "0"), ("-d", "x"), ("-d", "1,,x")]:
            self.check_fails(2, value.strip("1,"), "bench", "--model", MODEL, f"{flag}{value}")
        self.check_fails(1, "sees no pictures", "bench", "--model", MODEL, "--image", "64x64")
        self.check_fails(2, "--image", "bench", "--model", MODEL, "--mmproj", "tests/encoders/gemma3.gguf")
        for size in ["64", "64x", "x64", "0x64", "64x99999", "64x64x64", "axb"]:
            self.check_fails(2, size, "bench", "--model", MODEL, "--mmproj", "tests/encoders/gemma3.gguf", "--image", size)
        with_image = ["--mmproj", "tests/encoders/gemma3.gguf", "--image", "64x64"]
        self.check_fails(2, "--parallel", "bench", "--model", MODEL, "--parallel", "2", *with_image)
        self.check_fails(2, "--synthetic", "bench", "--synthetic", "llama3.2-1b:q4_0", *with_image)

    def test_models_that_cannot_be_run(self):
        self.check_fails(1, "no-such.gguf", "run", "./no-such.gguf", "Hi")
        self.check_fails(1, "no-such-model", "run", "no-such-model", "Hi")
        self.check_fails(1, "localhost:1", "pull", "localhost:1/me/no-such-model", "--insecure")
        data = Path(MODEL).read_bytes()
        for name, content, said in [("empty.gguf", b"", "empty.gguf"), ("text.gguf", b"hello" * 20, "text.gguf"),
                                    ("short.gguf", data[:40000], "short.gguf"), ("header.gguf", data[:100], "header.gguf")]:
            (self.path / name).write_bytes(content)
            for command in [["run", name, "Hi"], ["inspect", name], ["tokenize", "--model", name, "Hi"],
                            ["quantize", name, "out.gguf", "q8_0"]]:
                self.check_fails(1, said, *command)
        self.check_fails(1, str(self.path), "run", self.path, "Hi")
        other = Gguf(MODEL)
        other.set("general.architecture", STRING, "frobnicator")
        self.check_fails(1, ["frobnicator", "llama", "gemma3"], "run", other.save(self.path / "arch.gguf"), "Hi")
        self.assertFalse((self.path / "out.gguf").exists())
        self.assertFalse((self.path / "out.gguf.part").exists())

    def test_chat_templates(self):
        def model(template, **flags):
            file = Gguf(MODEL)
            file.set("tokenizer.chat_template", STRING, template)
            return file.save(self.path / "template.gguf")

        def files(**texts):
            for name, text in texts.items():
                (self.path / name).write_text(text)

        short = ["-n", "1", "--device", "cpu"]
        bad = model("{% nonsense %}{{ messages[0].content }}")
        self.check_fails(1, ["Line 1, column 4", "nonsense", "--raw", "--template"], "run", bad, "Hi", *short)
        for command in [["run", bad, "Hi", "--raw", *short], ["run", bad, "--tokens", "1,2", *short], ["inspect", bad],
                        ["tokenize", "--model", bad, "Hi"]]:
            with self.subTest(command=command):
                done = self.run_puna(*command)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        files(good="{{ messages[0].content }}", empty=" \n", broken="\n{{ 1 +", raises="{{ raise_exception('no ' ~ messages[0].role) }}")
        self.assertEqual(self.run_puna("run", bad, "Hi", "--template", "good", *short).returncode, 0)
        self.check_fails(1, ["no-file", "cannot be opened"], "run", bad, "Hi", "--template", "no-file", *short)
        self.check_fails(1, ["empty", "is empty"], "run", bad, "Hi", "--template", "empty", *short)
        self.check_fails(1, ["broken", "Line 2"], "run", bad, "Hi", "--template", "broken", *short)
        self.check_fails(1, ["Line 1, column", "no user"], "run", bad, "Hi", "--template", "raises", *short)
        self.check_fails(2, "--template", "run", bad, "Hi", "--template", "good", "--raw")
        self.check_fails(2, "--template", "run", bad, "Hi", "--template", "")

    def test_context_and_prompt(self):
        trained = 4096
        model = Gguf(MODEL)
        model.set("llama.context_length", U32, trained)
        path = model.save(self.path / "context.gguf")
        self.check_fails(1, ["4097", "4096"], "run", path, "Hi", "--ctx", "4097", "--device", "cpu")
        self.check_fails(1, ["16"], "run", path, "one two three four five six seven eight nine ten", "--raw", "--ctx", "16",
                         "--device", "cpu")
        self.check_fails(1, ["5000"], "run", path, "--tokens", "1,5000", "--device", "cpu")
        self.check_fails(1, ["5000"], "detokenize", "--model", path, "1,5000")
        self.check_fails(1, ["5000"], "logits", "--model", path, "--tokens", "1,5000", "--output", "x.npy", "--device", "cpu")
        self.check_fails(1, ["no-such-folder/x.npy"], "logits", "--model", path, "--tokens", "1,2", "--output",
                         "no-such-folder/x.npy", "--device", "cpu")

    def test_the_context_holds_the_tokens_that_are_given(self):
        model = Gguf(MODEL)
        model.set("llama.context_length", U32, 8200)  # the default is 8192
        path = model.save(self.path / "long.gguf")
        for command in ("logits", "embed"):
            args = [command, "--model", path, "--device", "cpu", "--output", "x.npy", "--tokens"]
            done = self.run_puna(*args, ",".join(["70"] * 8196))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.check_fails(1, ["8201", "8200"], *args, ",".join(["70"] * 8201))
            self.check_fails(1, ["20", "16"], *args, ",".join(["70"] * 20), "--ctx", "16")
        text = "x" * 8150 + " " + "y" * 40
        done = self.run_puna("embed", "--model", path, "--device", "cpu", "--output", "x.npy", text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_is_right(self):
        for args in [["run", MODEL, "Hi", "--raw", "-n", "3", "--temp", "0", "--device", "cpu", "--kv-type", "Q8_0"],
                     ["run", MODEL, "--tokens", "1,2", "--output-tokens", "-n", "2", "--device", "cpu"],
                     ["tokenize", "--model", MODEL, "[a] {b}"], ["detokenize", "--model", MODEL, "70 71"],
                     ["inspect", MODEL, "--json"], ["devices", "--json"],
                     ["selftest", "--device", "cpu", "--filter", "Norm", "--json"]]:
            done = self.run_puna(*args)
            self.assertEqual((done.returncode, done.stderr), (0, ""), args)
            if "--json" in args:
                json.loads(done.stdout)
        text = "[a] {b}\n -x  ü"
        ids = self.run_puna("tokenize", "--model", MODEL, "--no-special", stdin=text).stdout
        self.assertEqual(self.run_puna("detokenize", "--model", MODEL, stdin=ids).stdout, text)
        for text in ["", " ", text]:
            for flags in [[], ["--json"]]:
                ids = self.run_puna("tokenize", "--model", MODEL, "--no-special", *flags, stdin=text).stdout
                done = self.run_puna("detokenize", "--model", MODEL, stdin=ids)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, text, ""), ids)
        self.assertEqual(self.run_puna("detokenize", "--model", MODEL, "[70, 71]").stdout, self.run_puna("detokenize", "--model", MODEL, "70 71").stdout)
        for ids in ["", "[70", "70]", "[[70]]", "[70,]"]:
            self.check_fails(2, "IDS", "detokenize", "--model", MODEL, ids)

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PUNA, "inspect", MODEL], stdout=full, stderr=subprocess.PIPE, text=True, env=self.env)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
