#!/usr/bin/env python3
"""`puna tune` on the first GPU there is (software Vulkan will do): what it keeps, that Ctrl-C keeps the old profile, that bad ones are
passed over with a line.

usage: tests/cli/tune_test.py PUNA
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

MODEL = str(Path(__file__).resolve().parent.parent / "goldens" / "llama-q4_0.gguf")
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())


def run(home, *args):
    env = {**os.environ, "PUNA_HOME": str(home), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    return subprocess.run([PUNA, *map(str, args)], capture_output=True, text=True, env=env, timeout=280)


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)

    def profiles(self):
        return sorted((self.home / "profiles").glob("*.json"))

    def test_a_profile_is_kept_and_shown(self):
        done = run(self.home, "tune", "--model", MODEL, "--device", "gpu", "--budget", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual([str(p) for p in self.profiles()], [report["profile"]])
        self.assertTrue(any(k["kernel"].startswith("matvec q4_0 ") for k in report["kernels"]))
        self.assertTrue(any(k["kernel"].startswith("attention_decode ") for k in report["kernels"]))
        for kernel in report["kernels"]:
            self.assertGreater(kernel["default_us"], 0)
            self.assertLessEqual(kernel["tuned_us"], kernel["default_us"])
        stored = json.loads(self.profiles()[0].read_text())
        better = {k["kernel"] for k in report["kernels"] if k["tuned"] != k["default"]}
        self.assertEqual(set(stored["kernels"]), better)
        self.assertIn(stored["activations"]["decode"]["choice"], ("int8", "float"))
        devices = json.loads(run(self.home, "devices", "--json").stdout)["devices"]
        self.assertEqual(devices[0]["activations"]["tuned_kernels"], len(better))

    def test_ctrl_c_leaves_the_old_profile(self):
        self.assertEqual(run(self.home, "tune", "--model", MODEL, "--device", "gpu", "--budget", "0").returncode, 0)
        before = self.profiles()[0].read_bytes()
        env = {**os.environ, "PUNA_HOME": str(self.home), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        tune = subprocess.Popen([PUNA, "tune", "--model", MODEL, "--device", "gpu", "--budget", "600"], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        tune.send_signal(signal.SIGINT)
        out, _ = tune.communicate(timeout=120)
        self.assertEqual(tune.returncode, 130)
        self.assertEqual(out, "")
        self.assertEqual([p.read_bytes() for p in self.profiles()], [before])

    def test_a_damaged_profile_is_passed_over_with_one_line(self):
        self.assertEqual(run(self.home, "tune", "--model", MODEL, "--device", "gpu", "--budget", "0").returncode, 0)
        path = self.profiles()[0]
        path.write_text(path.read_text()[:-20])
        done = run(self.home, "run", MODEL, "--raw", "--tokens", "1,2,3", "-n", "2", "--temp", "0", "--device", "gpu", "--output-tokens")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stderr.splitlines() if str(path) in line]
        self.assertEqual(len(lines), 1)
        self.assertIn("puna tune", lines[0])

    def test_a_device_that_is_no_gpu_is_refused(self):
        done = run(self.home, "tune", "--model", MODEL, "--device", "cpu")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: Tuning is for GPUs, and the device is CPU", done.stderr)
        self.assertEqual(self.profiles(), [])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        devices = json.loads(run(home, "devices", "--json").stdout)["devices"]
    if devices[0]["id"] != "gpu:0":
        print("SKIPPED: there is no GPU, not even a software one; `puna tune` was not run")
        sys.exit(0)
    unittest.main()
