"""Tests of the program with a store of their own: PUNA, the program that the first argument names, and a test case with an empty home."""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from functools import partial
from pathlib import Path

PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "build/release/puna").resolve())
MODEL = Path(__file__).resolve().parent.parent / "goldens/llama-q4_0.gguf"
ELSEWHERE = ["OLLAMA_MODELS", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "LLAMA_CACHE"]


class Files(http.server.SimpleHTTPRequestHandler):
    """A folder, without a word; who asked may leave."""

    def log_message(self, *args):
        pass

    def copyfile(self, source, out):
        try:
            super().copyfile(source, out)
        except ConnectionError:
            self.close_connection = True


class OwnHome(unittest.TestCase):
    """self.path is a folder that goes with the test, and the home of what self.run_puna() runs; its store begins empty."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.env = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
        self.env.update(HOME=str(self.path), PUNA_HOME=str(self.path / "home"))

    def run_puna(self, *args, code=0):
        done = subprocess.run([PUNA, *map(str, args)], env=self.env, cwd=self.path, capture_output=True, text=True, errors="replace", timeout=100)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def told(self, *args, code=0):
        """What a command says with --json."""
        return json.loads(self.run_puna(*args, "--json", code=code).stdout)

    def names(self, *args):
        return [model["name"] for model in self.told("list", *args)["models"]]

    def serve_folder(self, folder):
        """The address of a server of the folder's files, which ends with the test."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"
