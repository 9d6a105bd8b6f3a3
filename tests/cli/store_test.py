#!/usr/bin/env python3
"""The store from outside: pull of an address, list, cp, rm and verify, with damage and beside each other; and a cache of another program.

usage: tests/cli/store_test.py PUNA
"""
import fcntl
import os
import resource
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from own_home import MODEL, PUNA, OwnHome


class Store(OwnHome):
    def verified(self, *args, code=0):
        return self.told("verify", *args, code=code)

    def test_a_model_is_pulled_listed_copied_checked_and_removed(self):
        url = f"{self.serve_folder(MODEL.parent)}/{MODEL.name}"
        refused = self.run_puna("pull", url, code=1)
        self.assertIn("--insecure", refused.stderr)
        self.assertIn("--insecure", self.run_puna("pull", url.replace("http:", "https:"), code=1).stderr)
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

    def test_a_file_that_may_not_grow_so_far_is_an_error(self):
        url = f"{self.serve_folder(MODEL.parent)}/{MODEL.name}"
        (self.path / "Modelfile").write_text(f"FROM {MODEL}\n")
        small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MODEL.stat().st_size // 2,) * 2)
        for command in [["pull", url, "--insecure", "--as", "tiny"], ["create", "tiny"]]:
            with self.subTest(command):
                done = subprocess.run([PUNA, *command], env=self.env, cwd=self.path, capture_output=True, text=True, timeout=100, preexec_fn=small)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("error: ", done.stderr)
                self.assertIn("File too large", done.stderr)
                self.assertEqual(self.names(), [])

    def test_a_name_of_the_catalogue_means_no_other_model(self):
        url = f"{self.serve_folder(MODEL.parent)}/{MODEL.name}"
        self.assertIn("catalogue", self.run_puna("pull", url, "--insecure", "--as", "smollm2", code=1).stderr)
        self.run_puna("pull", url, "--insecure", "--as", "library/smollm2")
        self.assertEqual(self.names(), ["library/smollm2:latest"])
        self.assertEqual(self.names("library/smol"), ["library/smollm2:latest"])
        self.assertIn('"smollm2:latest"', self.run_puna("rm", "smollm2", code=1).stderr)
        self.run_puna("run", "library/smollm2", "Hi", "-n", "1", "--raw", "--device", "cpu")
        self.run_puna("rm", "library/smollm2:latest")
        self.assertIn('"library/smollm2:latest"', self.run_puna("rm", "library/smollm2", code=1).stderr)

    def test_a_copy_beside_a_removal_has_all_or_is_none(self):
        (self.path / "Modelfile").write_text(f"FROM {MODEL}\n")
        self.run_puna("create", "source")
        lock = self.path / "home/models/manifests.lock"
        with open(lock, "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            runs = []
            for command in [["cp", "source", "copy"], ["rm", "source"]]:
                runs.append(subprocess.Popen([PUNA, *command], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
                time.sleep(0.5)  # each has looked for the model, and waits
            os.unlink(lock)  # as who frees it does
        said = [run.communicate(timeout=100)[1] for run in runs]
        copied = runs[0].returncode == 0
        self.assertEqual(runs[1].returncode, 0, said)
        self.assertEqual(self.names(), ["copy:latest"] if copied else [])
        self.assertTrue(self.verified()["fine"])
        if not copied:
            self.assertIn("removed", said[0])

    def test_what_other_programs_keep_is_listed_and_never_written(self):
        cache = self.path / ".cache/huggingface/hub/models--user--Repo/snapshots/abc"
        cache.mkdir(parents=True)
        shutil.copy(MODEL, cache / "Repo-Q4_0.gguf")
        shutil.copytree(cache, self.path / "plain")
        listed = self.told("list", "--models-dir", self.path / "plain")["models"]
        self.assertEqual([(each["name"], each["from"]) for each in listed],
                         [("hf.co/user/Repo:Q4_0", "huggingface"), ("Repo-Q4_0:latest", "folder")])
        self.run_puna("run", "hf.co/user/repo:q4_0", "Hi", "-n", "1", "--raw", "--device", "cpu")
        self.assertIn("only reads", self.run_puna("rm", "hf.co/user/repo:q4_0", code=1).stderr)
        self.assertTrue((cache / "Repo-Q4_0.gguf").exists())
        self.assertFalse((self.path / "home").exists())


if __name__ == "__main__":
    unittest.main()
