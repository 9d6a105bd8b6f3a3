#!/usr/bin/env python3
"""What commands do with the file they are told to write: `quantize`, `convert`, `logits` and `embed` go by the same rules.

usage: tests/cli/output_test.py PUNA
"""
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from tiny_gguf import STRING, value, write_gguf

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
MODEL = GOLDENS / "llama-q4_0.gguf"
FOLDER = GOLDENS / "small_llama-bf16"
IDS = ["--tokens", "5,17,99", "--device", "cpu"]
# Each command with the file that it writes.
COMMANDS = {
    "quantize": lambda out: ["quantize", MODEL, out, "f16"],
    "convert": lambda out: ["convert", FOLDER, out, "--force"],
    "logits": lambda out: ["logits", "--model", MODEL, *IDS, "--output", out],
    "embed": lambda out: ["embed", "--model", MODEL, *IDS, "--output", out],
}


class Output(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "work"
        self.path.mkdir()
        self.env = {**os.environ, "PUNA_HOME": str(Path(folder.name) / "home")}

    def puna(self, *args, code=0, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        done = subprocess.run([PUNA, *map(str, args)], env=self.env, cwd=self.path, timeout=120, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def each(self):
        """Every command, with what it writes to a plain file."""
        for name, command in COMMANDS.items():
            with self.subTest(name):
                self.puna(*command("plain"))
                plain = (self.path / "plain").read_bytes()
                (self.path / "plain").unlink()
                yield command, plain
                for left in self.path.iterdir():
                    shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()

    def names(self):
        return sorted(path.name for path in self.path.iterdir())

    def refused(self, command, out, said, code):
        error = self.puna(*command(out), code=code).stderr.decode()
        self.assertTrue(error.startswith("error: "), error)
        self.assertIn(said, error)

    def test_a_fifo_is_written_into(self):
        for command, plain in self.each():
            os.mkfifo(self.path / "fifo")
            got = []
            reader = threading.Thread(target=lambda: got.append((self.path / "fifo").read_bytes()))
            reader.start()
            self.puna(*command("fifo"))
            reader.join()
            self.assertEqual(got, [plain])
            self.assertTrue(stat.S_ISFIFO(os.stat(self.path / "fifo").st_mode))
            self.assertEqual(self.names(), ["fifo"])

    def test_a_reader_that_leaves_is_an_error(self):
        os.mkfifo(self.path / "fifo")

        def read_a_little():
            with open(self.path / "fifo", "rb") as file:
                file.read(10)

        reader = threading.Thread(target=read_a_little)
        reader.start()
        self.refused(COMMANDS["quantize"], "fifo", "Broken pipe", 1)
        reader.join()
        self.assertEqual(self.names(), ["fifo"])

    def test_a_fifo_that_nobody_reads_is_refused(self):
        os.mkfifo(self.path / "fifo")
        self.refused(COMMANDS["quantize"], "fifo", "start its reader", 1)
        self.assertEqual(self.names(), ["fifo"])

    def test_devices_stay_devices(self):
        for command, _ in self.each():
            self.puna(*command("/dev/null"))
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
            self.refused(command, "/dev/full", "No space left", 1)
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
            self.assertEqual(self.names(), [])

    def test_standard_output_gets_the_file_and_nothing_else(self):
        for command, plain in self.each():
            self.assertEqual(self.puna(*command("/dev/stdout")).stdout, plain)
            with open(self.path / "to", "wb") as file:
                self.puna(*command("/dev/stdout"), stdout=file)
            self.assertEqual((self.path / "to").read_bytes(), plain)
            (self.path / "to").write_bytes(b"head ")
            with open(self.path / "to", "ab") as file:
                self.puna(*command("/dev/fd/1"), stdout=file)
            self.assertEqual((self.path / "to").read_bytes(), b"head " + plain)
            self.assertEqual(self.names(), ["to"])

    def test_a_terminal_is_refused(self):
        leader, terminal = os.openpty()
        self.addCleanup(os.close, leader)
        for command, _ in self.each():
            error = self.puna(*command("/dev/stdout"), code=2, stdout=terminal).stderr
            self.assertIn(b"is a terminal", error)
        os.close(terminal)

    def test_what_is_no_file_is_refused(self):
        for command, _ in self.each():
            listener = socket.socket(socket.AF_UNIX)
            where = os.getcwd()
            os.chdir(self.path)  # a socket's path is short
            listener.bind("socket")
            os.chdir(where)
            (self.path / "folder").mkdir()
            (self.path / "file").write_text("kept")
            for out, said, code in [("socket", "is a socket", 2), ("folder", "is a folder", 2), ("new/", "ends as a folder does", 2), ("none/out", '"none/" does not exist', 1),
                                    ("file/out", "Not a directory", 1), ("", "empty", 2)]:
                self.refused(command, out, said, code)
            listener.close()
            self.assertEqual((self.path / "file").read_text(), "kept")
            self.assertEqual(self.names(), ["file", "folder", "socket"])

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_permissions_are_asked_for(self):
        for command, _ in self.each():
            (self.path / "kept").write_text("kept")
            os.chmod(self.path / "kept", 0o444)
            self.refused(command, "kept", "Permission denied", 1)
            (self.path / "closed").mkdir(mode=0o555)
            self.refused(command, "closed/out", "Permission denied", 1)
            self.assertEqual((self.path / "kept").read_text(), "kept")

    def test_a_file_is_replaced_through_its_links(self):
        for command, plain in self.each():
            (self.path / "out").write_text("old")
            os.chmod(self.path / "out", 0o604)
            (self.path / "link").symlink_to("out")
            (self.path / "dangling").symlink_to("made")
            self.puna(*command("link"))
            self.puna(*command("dangling"))
            for name in ["out", "made"]:
                self.assertEqual((self.path / name).read_bytes(), plain)
            self.assertEqual(stat.S_IMODE(os.stat(self.path / "out").st_mode), 0o604)
            self.assertEqual([(self.path / name).is_symlink() for name in ["link", "dangling"]], [True, True])
            self.assertEqual(self.names(), ["dangling", "link", "made", "out"])

    def test_a_write_that_fails_leaves_what_was_there(self):
        for command, plain in self.each():
            limit = len(plain) // 2
            (self.path / "old").write_text("kept")
            for out in ["new", "old"]:
                error = self.puna(*command(out), code=1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))).stderr
                self.assertIn(b"File too large", error)
            self.assertEqual((self.path / "old").read_text(), "kept")
            self.assertEqual(self.names(), ["old"])

    def test_the_input_is_never_the_output(self):
        shutil.copy(MODEL, self.path / "in.gguf")
        (self.path / "link").symlink_to("in.gguf")
        (self.path / "hard").hardlink_to(self.path / "in.gguf")
        for out in ["in.gguf", "link", "hard"]:
            for command in [["quantize", "link", out, "q8_0"], ["convert", "in.gguf", out, "--force"], ["logits", "--model", "in.gguf", *IDS, "--output", out],
                            ["embed", "--model", "hard", *IDS, "--output", out]]:
                self.refused(lambda _: command, "", "destroy", 2)
        with open(self.path / "in.gguf", "ab") as file:
            self.assertIn(b"destroy", self.puna("quantize", "in.gguf", "/dev/stdout", "q8_0", code=2, stdout=file).stderr)
        self.assertEqual((self.path / "in.gguf").read_bytes(), MODEL.read_bytes())
        shutil.copytree(FOLDER, self.path / "folder")
        for file in sorted((self.path / "folder").iterdir()):
            self.refused(lambda out: ["convert", "folder", out, "--force"], file, "destroy", 2)
            self.assertEqual(file.read_bytes(), (FOLDER / file.name).read_bytes())
        self.puna("convert", "folder", "folder/out.gguf")
        self.puna("convert", "folder", "folder/out.gguf", "--force")

    def test_an_interrupt_leaves_nothing(self):
        n = 1 << 26  # a quarter of a gigabyte of holes
        head = write_gguf(self.path / "in.gguf", {"general.architecture": value(STRING, "any")}, [("blk.0.ffn_up.weight", [256, n // 256], 0, b"")])
        os.truncate(head, os.path.getsize(head) + 4 * n)
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(sent):
                puna = subprocess.Popen([PUNA, "quantize", "in.gguf", "out.gguf", "q2_k", "--threads", "1"], cwd=self.path, env=self.env, stderr=subprocess.PIPE)
                while puna.poll() is None and self.names() == ["in.gguf"]:
                    time.sleep(0.002)
                puna.send_signal(sent)
                puna.communicate(timeout=60)
                self.assertEqual(puna.returncode, 130)
                self.assertEqual(self.names(), ["in.gguf"])

    def test_a_terminal_that_is_closed_ends_nothing_behind_nohup(self):
        ignores = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        puna = subprocess.Popen([PUNA, "tokenize", "--model", MODEL], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=ignores)
        time.sleep(0.5)
        puna.send_signal(signal.SIGHUP)
        said, _ = puna.communicate(b"Hi", timeout=60)
        self.assertEqual(puna.returncode, 0)
        self.assertNotEqual(said, b"")


if __name__ == "__main__":
    unittest.main()
