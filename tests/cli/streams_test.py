#!/usr/bin/env python3
"""Runs the program where standard streams are closed or full, where files are none, and where there is no home: no hang, no file
written by mistake, no result lost in silence, and nothing that a file could say to a terminal.

usage: tests/cli/streams_test.py PUNA
"""
import itertools
import os
import pty
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tiny_gguf import STRING, Gguf

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
MODEL = str(GOLDENS / "llama-q4_0.gguf")
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
IDS = "1,2,3"
# One of each command that prints, or reads what is typed.
COMMANDS = [["tokenize", "--model", "m.gguf", "Hi"], ["detokenize", "--model", "m.gguf", "70,71"], ["inspect", "m.gguf"],
            ["inspect", "m.gguf", "--json"], ["run", "m.gguf", "Hi", "-n", "2", "--raw", "--device", "cpu"],
            ["run", "m.gguf", "--tokens", IDS, "--output-tokens", "-n", "2", "--device", "cpu"], ["devices"], ["devices", "--json"],
            ["quantize", "m.gguf", "out.gguf", "q8_0"], ["--help"], ["bench", "--help"], ["--version"],
            ["selftest", "--device", "cpu", "--filter", "norm"],
            ["bench", "--model", "m.gguf", "-p", "1", "-n", "1", "-r", "1", "--device", "cpu"]]


class Streams(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        shutil.copy(MODEL, self.path / "m.gguf")
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # GPU drivers leave memory behind
        self.env = {**os.environ, "PUNA_HOME": str(self.path / "home"), "ASAN_OPTIONS": sanitizer}

    def run_puna(self, *args, env=None, **kwargs):
        kwargs = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
        return subprocess.run([PUNA, *map(str, args)], text=True, errors="replace", cwd=self.path, env=env or self.env, timeout=60,
                              **kwargs)

    def close(self, *closed):
        def before():
            for fd in closed:
                os.close(fd)
        return before

    def test_closed_streams_are_no_files(self):
        whole = Path(MODEL).read_bytes()
        for n in (1, 2, 3):
            for closed in itertools.combinations(range(3), n):
                for command in [["run", "m.gguf", "Hi", "-n", "2", "--raw", "--device", "cpu"], ["tokenize", "--model", "m.gguf"],
                                ["run", "m.gguf", "-n", "2", "--device", "cpu"], ["run", "no-such-model"]]:
                    with self.subTest(closed=closed, command=command):
                        done = self.run_puna(*command, stdin=subprocess.PIPE, preexec_fn=self.close(*closed))
                        reads = command[-1] == "m.gguf" or command[1] == "m.gguf" and command[2] == "-n"
                        fails = 1 in closed or (0 in closed and reads) or command[1] == "no-such-model"
                        self.assertEqual(done.returncode, int(fails), done.stderr)
                        if fails and 2 not in closed:
                            self.assertRegex(done.stderr, r"(?m)^error: ")
                        self.assertEqual((self.path / "m.gguf").read_bytes(), whole)

    def test_an_output_that_is_written_with_closed_streams_is_whole(self):
        self.run_puna("logits", "--model", "m.gguf", "--tokens", IDS, "--output", "a.npy", "--device", "cpu")
        done = self.run_puna("logits", "--model", "m.gguf", "--tokens", IDS, "--output", "b.npy", "--device", "cpu", "--verbose",
                             preexec_fn=self.close(0, 1, 2))
        self.assertEqual(done.returncode, 0)
        self.assertEqual((self.path / "b.npy").read_bytes(), (self.path / "a.npy").read_bytes())

    def test_results_that_are_lost_are_an_error(self):
        for command in COMMANDS:
            for lost in ("full", "closed"):
                with self.subTest(command=command, lost=lost), open("/dev/full", "w") as full:
                    kwargs = {"stdout": full} if lost == "full" else {"preexec_fn": self.close(1)}
                    done = self.run_puna(*command, **kwargs)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertRegex(done.stderr, r"(?m)^error: .*standard output")

    def test_errors_need_no_place_to_go(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(self.run_puna("run", "no-such-model", stderr=full).returncode, 1)
            self.assertEqual(self.run_puna("nonsense", stderr=full).returncode, 2)
            self.assertEqual(self.run_puna(stderr=full).returncode, 2)
            done = self.run_puna("run", "m.gguf", "Hi", "-n", "2", "--raw", "--device", "cpu", "--stats", "--verbose", stderr=full)
            self.assertEqual(done.returncode, 0)

    def test_what_is_no_file_is_refused_at_once(self):
        os.mkfifo(self.path / "fifo.gguf")
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(self.path / "socket.gguf"))
        for name in ("fifo.gguf", "socket.gguf", "/dev/zero", "/dev/tty"):
            for command in [["run", name, "Hi"], ["inspect", name], ["tokenize", "--model", name, "Hi"],
                            ["quantize", name, "out.gguf", "q8_0"],
                            ["logits", "--model", name, "--tokens", IDS, "--output", "x.npy"]]:
                with self.subTest(command=command):
                    done = self.run_puna(*command)
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertRegex(done.stderr, r"\Aerror: .*" + re.escape(name) + r".*not a regular file")
                    self.assertEqual(done.stderr.count("\n"), 1)

    def test_no_file_inside_a_folder_is_waited_for(self):
        whole = GOLDENS / "small_llama-bf16"
        names = [each.name for each in whole.iterdir()]
        self.assertIn("config.json", names)
        for name in [*names, "tokenizer.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja",
                     "model.safetensors.index.json"]:
            with self.subTest(name=name):
                folder = self.path / "folder"
                shutil.copytree(whole, folder)
                (folder / name).unlink(missing_ok=True)
                os.mkfifo(folder / name)
                done = self.run_puna("inspect", folder)
                self.assertEqual(done.returncode, 1, done.stdout[:200])
                self.assertIn(name, done.stderr)
                shutil.rmtree(folder)

    def test_a_pipe_gives_text(self):
        fifo = self.path / "text"
        os.mkfifo(fifo)
        writer = subprocess.Popen(["sh", "-c", f"printf Hi > {fifo}"])
        with open(fifo) as text:
            piped = self.run_puna("tokenize", "--model", "m.gguf", stdin=text)
        writer.wait()
        self.assertEqual(piped.stdout, self.run_puna("tokenize", "--model", "m.gguf", "Hi").stdout)

    def without_home(self, **env):
        return {**{key: value for key, value in self.env.items() if key not in ("HOME", "PUNA_HOME")}, **env}

    def test_a_path_needs_no_store(self):
        (self.path / "file").write_text("")
        (self.path / "fixed").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
        for env in [{}, {"HOME": ""}, {"HOME": "", "PUNA_HOME": ""}, {"HOME": "/nonexistent"}, {"PUNA_HOME": str(self.path / "file")},
                    {"PUNA_HOME": str(self.path / "fixed")}]:
            with self.subTest(env=env):
                for command in [["run", "m.gguf", "Hi", "-n", "1", "--raw"], ["inspect", "./m.gguf"], ["devices"]]:
                    done = self.run_puna(*command, env=self.without_home(**env))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                done = self.run_puna("run", "./no-such.gguf", "Hi", env=self.without_home(**env))
                self.assertEqual(done.returncode, 1)
                self.assertIn("no file or folder", done.stderr)

    def test_a_name_without_a_store_says_which_variable_makes_one(self):
        for command in [["run", "smollm2", "Hi"], ["pull", "smollm2"], ["inspect", "other"]]:
            done = self.run_puna(*command, env=self.without_home())
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Aerror: .*PUNA_HOME")
        (self.path / "file").write_text("")
        done = self.run_puna("pull", "smollm2", env=self.without_home(HOME=str(self.path / "file")))
        self.assertEqual(done.returncode, 1)
        self.assertIn("PUNA_HOME", done.stderr)

    def dangerous_model(self):
        model = Gguf(MODEL)
        model.set("general.\x1b[2Jname", STRING, "\x1b]0;title\x07 \x9b31m \u202egnp")
        model.set("tokenizer.chat_template", STRING, "{{ raise_exception('no \x1b[31m') }}")
        data = Path(model.save(self.path / "plain.gguf")).read_bytes()
        name = next(name for name, *_ in model.tensors if name.startswith("blk.")).encode()
        (self.path / "bad.gguf").write_bytes(data.replace(name, b"\x1b[31m" + name[5:], 1))
        return "bad.gguf"

    def test_nothing_of_a_file_speaks_to_the_terminal(self):
        model = self.dangerous_model()
        shutil.copy(self.path / model, self.path / "\x1b[5m.gguf")
        control = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
        for command in [["inspect", model], ["inspect", model, "--json"], ["inspect", model, "--plan"],
                        ["run", "plain.gguf", "Hi", "--device", "cpu"], ["inspect", "\x1b[5m.gguf"], ["run", "\x1b[5m", "Hi"],
                        ["run", "\x1b[5m.gguf", "Hi"], ["\x1b[5m"], ["inspect", "--\x1b[5m"], ["inspect", model, "\x1b[5m"],
                        ["quantize", model, "out\x1b.gguf", "q8_0"], ["quantize", model, "out", "\x1b[5m"]]:
            with self.subTest(command=command):
                done = self.run_puna(*command)
                self.assertEqual(control.findall(done.stdout + done.stderr), [])
                self.assertIn("\\u001b", done.stdout + done.stderr)

    def test_a_reply_is_tame_on_a_terminal_and_exact_in_a_pipe(self):
        escape = "\x1b[31m"
        ids = self.run_puna("tokenize", "--model", "m.gguf", "--no-special", escape).stdout
        exact = self.run_puna("detokenize", "--model", "m.gguf", ids).stdout
        self.assertEqual(exact, escape)
        master, slave = pty.openpty()
        self.run_puna("detokenize", "--model", "m.gguf", ids, stdout=slave)
        os.close(slave)
        shown = os.read(master, 1000).decode()
        os.close(master)
        self.assertEqual(shown, "\\u001b[31m")


if __name__ == "__main__":
    unittest.main()
