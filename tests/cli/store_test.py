#!/usr/bin/env python3
"""The store from outside: pull of an address, list, cp, rm and verify, with damage and kills; and a cache of another program.

usage: tests/cli/store_test.py PUNA
"""
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

MODEL = Path(__file__).resolve().parent.parent / "goldens/llama-q4_0.gguf"
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
SEED = 20261126


class Files(http.server.SimpleHTTPRequestHandler):
    """A folder, slowly, so that there is a middle to be killed in."""

    def __init__(self, *args, root, **kwargs):
        super().__init__(*args, directory=root, **kwargs)

    def log_message(self, *args):
        pass

    def copyfile(self, source, out):
        try:
            while piece := source.read(1 << 16):
                out.write(piece)
                time.sleep(0.002)
        except ConnectionError:
            self.close_connection = True  # who asked was killed


class Store(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.env = {**os.environ, "HOME": str(self.path), "PUNA_HOME": str(self.path / "home")}
        for name in ["OLLAMA_MODELS", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "LLAMA_CACHE"]:
            self.env.pop(name, None)

    def run_puna(self, *args, code=0):
        done = subprocess.run([PUNA, *map(str, args)], env=self.env, capture_output=True, text=True, errors="replace", timeout=100)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def names(self, *args):
        return [model["name"] for model in json.loads(self.run_puna("list", "--json", *args).stdout)["models"]]

    def verified(self, *args, code=0):
        return json.loads(self.run_puna("verify", "--json", *args, code=code).stdout)

    def serve(self, *files):
        root = self.path / "served"
        root.mkdir(exist_ok=True)
        for file in files:
            shutil.copy(file, root / Path(file).name)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a, **k: Files(*a, root=str(root), **k))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_a_model_is_pulled_listed_copied_checked_and_removed(self):
        url = f"{self.serve(MODEL)}/{MODEL.name}"
        refused = self.run_puna("pull", url, code=1)
        self.assertIn("--insecure", refused.stderr)
        path = Path(self.run_puna("pull", url, "--insecure", "--as", "me/tiny:v1").stdout.strip())
        self.assertEqual(path.read_bytes(), MODEL.read_bytes())
        self.assertEqual(self.names(), ["me/tiny:v1"])
        self.assertIn("me/tiny:v1", self.run_puna("list").stdout)
        self.assertEqual(self.names("you"), [])
        self.run_puna("run", "ME/tiny:V1", "Hi", "-n", "1", "--raw", "--device", "cpu")
        self.run_puna("cp", "me/tiny:v1", "second")
        self.run_puna("rm", "me/tiny:v1")
        self.assertEqual(self.names(), ["second:latest"])
        self.assertTrue(self.verified()["fine"])
        path.write_bytes(b"GGUF" + path.read_bytes()[4:-1] + b"x")
        found = self.verified(code=1)
        self.assertEqual([each["model"] for each in found["findings"]], ["second:latest"])
        self.assertIn("damaged", self.run_puna("verify", code=1).stdout)
        self.run_puna("rm", "second")
        self.assertEqual(self.names(), [])
        self.assertFalse(path.exists())
        for name in ["second", "../x", "sha256:../../x", "a" * 300]:
            self.run_puna("rm", name, code=1)
        self.assertIn("did you mean", self.run_puna("run", "smolm2", "Hi", code=1).stderr)

    def test_what_other_programs_keep_is_listed_and_never_written(self):
        cache = self.path / ".cache/huggingface/hub/models--user--Repo/snapshots/abc"
        cache.mkdir(parents=True)
        shutil.copy(MODEL, cache / "Repo-Q4_0.gguf")
        shutil.copytree(cache, self.path / "plain")
        listed = json.loads(self.run_puna("list", "--json", "--models-dir", self.path / "plain").stdout)["models"]
        self.assertEqual([(each["name"], each["from"]) for each in listed],
                         [("hf.co/user/Repo:Q4_0", "huggingface"), ("Repo-Q4_0:latest", "folder")])
        self.run_puna("run", "hf.co/user/repo:q4_0", "Hi", "-n", "1", "--raw", "--device", "cpu")
        self.assertIn("only reads", self.run_puna("rm", "hf.co/user/repo:q4_0", code=1).stderr)
        self.assertTrue((cache / "Repo-Q4_0.gguf").exists())
        self.assertFalse((self.path / "home").exists())

    def test_killed_at_any_moment_the_store_is_whole(self):
        big = self.path / "big.gguf"
        big.write_bytes(b"GGUF" + random.Random(SEED).randbytes(2_000_000))
        url = self.serve(big)
        self.run_puna("pull", f"{url}/big.gguf", "--insecure", "--as", "kept")
        chance = random.Random(SEED)
        for _ in range(12):
            commands = [["pull", f"{url}/big.gguf", "--insecure", "--as", "other"], ["cp", "kept", "third"], ["rm", "third"]]
            runs = [subprocess.Popen([PUNA, *command], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for command in chance.sample(commands, 2)]
            time.sleep(chance.uniform(0, 0.12))
            for run in runs:
                run.send_signal(signal.SIGKILL)
                run.wait()
            found = self.verified()
            self.assertTrue(found["fine"], found)
            self.assertIn("kept:latest", self.names())
        self.verified("--repair", "--min-age", "0")
        self.assertEqual(self.verified()["findings"], [])
        self.run_puna("pull", f"{url}/big.gguf", "--insecure", "--as", "other")
        self.assertTrue(self.verified()["fine"])


if __name__ == "__main__":
    unittest.main()
