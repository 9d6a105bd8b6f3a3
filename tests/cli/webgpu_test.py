#!/usr/bin/env python3
"""Which WebGPU library serves an adapter: what PUNA_WEBGPU says, none at all, both, and two adapters.

Software Vulkan will do. The tests of Dawn need the library (`tools/setup --dawn-wheel` or `make dawn`) and a Mesa that it takes
(`tools/lavapipe/driver`); without them they are skipped.

usage: tests/cli/webgpu_test.py PUNA [Libraries|Dawn]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PUNA = Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve()
MODEL = ROOT / "tests" / "goldens" / "llama-q4_0.gguf"
DRIVER = subprocess.run([ROOT / "tools" / "lavapipe" / "driver", "--present"], capture_output=True, text=True).stdout.strip()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_puna(self, *args, puna=PUNA, **env):
        env = {**os.environ, "PUNA_HOME": str(self.folder), "ASAN_OPTIONS": "detect_leaks=0", **env}
        return subprocess.run([puna, *map(str, args)], capture_output=True, text=True, errors="replace", env=env, timeout=250)

    def devices(self, **env):
        done = self.run_puna("devices", "--json", **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["devices"]

    def gpus(self, **env):
        return [device for device in self.devices(**env) if device["type"] != "cpu"]

    def lavapipes(self, n):
        """The environment in which Vulkan has n adapters, each by a driver file of its own."""
        files = []
        for i in range(n):
            driver = self.folder / f"driver{i}.so"  # the loader takes each file once
            shutil.copy(DRIVER, driver)
            files.append(self.folder / f"driver{i}.json")
            files[-1].write_text(json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": str(driver), "api_version": "1.4.305"}}))
        names = ":".join(map(str, files))
        return {"VK_DRIVER_FILES": names, "VK_ICD_FILENAMES": names, "LD_LIBRARY_PATH": str(Path(DRIVER).parent)}


class Libraries(Case):
    def test_a_path_that_is_no_library_is_an_error(self):
        for args in (["devices"], ["run", MODEL, "Hi", "-n", "1"], ["run", MODEL, "Hi", "-n", "1", "--device", "gpu"]):
            done = self.run_puna(*args, PUNA_WEBGPU="/nowhere/libdawn.so")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith('error: PUNA_WEBGPU is "/nowhere/libdawn.so"'), done.stderr)

    def test_the_cpu_does_not_care_for_it(self):
        done = self.run_puna("run", MODEL, "Hi", "-n", "1", "--device", "cpu", PUNA_WEBGPU="/nowhere/libdawn.so")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_wgpu_is_wgpu_native(self):
        for gpu in self.gpus(PUNA_WEBGPU="wgpu"):
            self.assertEqual(gpu["library"], "wgpu-native")
            self.assertIn("libwgpu_native", gpu["library_path"])
            self.assertEqual(gpu["library_why"], "the only library here that offers it")

    def test_without_any_library_the_cpu_is_taken_and_the_reason_said(self):
        # A copy of the program that looks for libraries where nothing is.
        lonely = self.folder / "puna"
        lonely.write_bytes(PUNA.read_bytes().replace(b"third_party/cache", b"third_party/CACHE"))
        lonely.chmod(0o755)
        done = self.run_puna("devices", "--json", puna=lonely)
        self.assertEqual(done.returncode, 0, done.stderr)
        if len(json.loads(done.stdout)["devices"]) > 1:
            self.skipTest("SKIPPED: the system has a WebGPU library of its own")
        self.assertEqual(json.loads(done.stdout)["auto"], "cpu")
        self.assertIn("No WebGPU library can be loaded", done.stderr)
        self.assertIn("libwgpu_native-release.so", done.stderr)
        done = self.run_puna("run", MODEL, "Hi", "-n", "1", puna=lonely)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("No GPU is used: No WebGPU library can be loaded", done.stderr)
        done = self.run_puna("run", MODEL, "Hi", "-n", "1", "--device", "gpu", puna=lonely)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No WebGPU library can be loaded", done.stderr)

    @unittest.skipUnless(DRIVER, "SKIPPED: tools/lavapipe/driver has not been run")
    def test_two_drivers_are_two_adapters(self):
        gpus = self.gpus(PUNA_WEBGPU="wgpu", **self.lavapipes(2))
        self.assertEqual([gpu["id"] for gpu in gpus], ["gpu:0", "gpu:1"])


class Dawn(Case):
    def setUp(self):
        super().setUp()
        if not DRIVER:
            self.skipTest("SKIPPED: tools/lavapipe/driver has not been run")
        self.lavapipe = self.lavapipes(1)
        if self.run_puna("devices", PUNA_WEBGPU="dawn").returncode != 0:
            self.skipTest("SKIPPED: there is no Dawn; tools/setup --dawn-wheel fetches it")

    def test_both_libraries_list_an_adapter_once(self):
        of_dawn, of_wgpu, of_both = (self.gpus(PUNA_WEBGPU=wanted, **self.lavapipe) for wanted in ("dawn", "wgpu", ""))
        self.assertEqual([[gpu["name"] for gpu in gpus] for gpus in (of_dawn, of_wgpu)], [[gpu["name"] for gpu in of_both]] * 2)
        self.assertEqual(of_dawn[0]["library"], "Dawn")
        matrix_units = "subgroup-matrix" in of_dawn[0]["features"]
        self.assertEqual(of_both[0]["library"], "Dawn" if matrix_units else "wgpu-native")
        self.assertIn("matrix units", of_both[0]["library_why"])

    def test_equal_cards_are_as_many_with_either(self):
        two = self.lavapipes(2)
        for wanted in ("dawn", "wgpu", ""):
            self.assertEqual(len(self.gpus(PUNA_WEBGPU=wanted, **two)), 2, wanted)

    def test_compiled_pipelines_are_kept_and_read_again(self):
        args = ["logits", "--model", MODEL, "--tokens", "1,2,3", "--device", "gpu", "--output"]
        files = []
        for name in ("cold.npy", "warm.npy"):
            done = self.run_puna(*args, self.folder / name, PUNA_WEBGPU="dawn", **self.lavapipe)
            self.assertEqual(done.returncode, 0, done.stderr)
            files.append({path.name for path in (self.folder / "pipelines").iterdir()})
        self.assertTrue(files[0])
        self.assertEqual(files[0], files[1])
        self.assertEqual((self.folder / "cold.npy").read_bytes(), (self.folder / "warm.npy").read_bytes())

    def test_kernels_compute_right(self):
        done = self.run_puna("selftest", "--device", "gpu", "--filter", "rope", "--json", PUNA_WEBGPU="dawn", **self.lavapipe)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["results"])


if __name__ == "__main__":
    unittest.main()
