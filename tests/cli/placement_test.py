#!/usr/bin/env python3
"""Where a mixture goes: `--cpu-experts`, `--gpu-memory` and what is said of it, on the first GPU there is (software Vulkan will do).

usage: tests/cli/placement_test.py PUNA
"""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
MIXTURE = "small_qwen3moe-bf16"  # two layers, both with experts
SYNTHETIC = ["--synthetic", "tiny-moe:pure:f32"]
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())


def run(*args):
    env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    return subprocess.run([PUNA, *map(str, args)], capture_output=True, text=True, env=env, timeout=280)


class Placement(unittest.TestCase):
    def bench(self, *args):
        done = run("bench", *SYNTHETIC, "--device", "gpu", "-p", "8", "-n", "2", "-r", "1", "--json", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def test_experts_of_a_number_of_layers(self):
        whole, said = self.bench()
        self.assertEqual((whole["placement"]["gpu_layers"], whole["placement"]["cpu_experts"]), (2, 0))
        self.assertNotIn("computed on the CPU", said)
        on_gpu, on_cpu = whole["placement"]["gpu"]["weights_bytes"], 0
        for n, flag in [(1, "1"), (2, "all")]:
            some, said = self.bench("--cpu-experts", flag)
            placement = some["placement"]
            self.assertEqual((placement["gpu_layers"], placement["cpu_experts"]), (2, n))
            self.assertLess(placement["gpu"]["weights_bytes"], on_gpu)
            self.assertGreater(placement["cpu"]["weights_bytes"], on_cpu)
            self.assertEqual(some["memory"]["weights_bytes"], placement["gpu"]["weights_bytes"] + placement["cpu"]["weights_bytes"])
            self.assertIn(f"the experts of {n} layers there are computed on the CPU", said)
            self.assertIn(f"--cpu-experts {flag}", said)
            on_gpu, on_cpu = placement["gpu"]["weights_bytes"], placement["cpu"]["weights_bytes"]

    def test_as_few_as_memory_wants(self):
        whole, _ = self.bench("--cpu-experts", "auto")
        self.assertEqual(whole["placement"]["cpu_experts"], 0)
        memory = whole["memory"]
        mib = sum(memory[part + "_bytes"] for part in ("weights", "kv", "arena", "staging")) // (1 << 20)
        some, said = self.bench("--cpu-experts", "auto", "--gpu-memory", mib)
        self.assertEqual((some["placement"]["gpu_layers"], some["placement"]["cpu_experts"]), (2, 1))
        self.assertIn("no more fits", said)
        done = run("bench", *SYNTHETIC, "--device", "gpu", "-p", "8", "-n", "2", "--gpu-layers", "2", "--gpu-memory", mib)
        self.assertEqual(done.returncode, 1)
        self.assertIn("that may be used are taken", done.stderr)

    def test_a_plan_says_where_the_cpu_has_its_turn(self):
        plan = run("inspect", GOLDENS / MIXTURE, "--plan", "--cpu-experts", "all").stdout
        self.assertIn("on the CPU: the experts of 2 layers", plan)
        self.assertRegex(plan, r"on the CPU +blk\.0\.")
        self.assertRegex(plan, r"on the CPU +blk\.1\.")
        plan = run("inspect", GOLDENS / MIXTURE, "--plan", "--cpu-experts", "1", "--gpu-layers", "1").stdout
        self.assertIn("the embedding and 1 of 2 layers", plan)
        self.assertNotIn("the experts of", plan)
        refused = run("inspect", GOLDENS / MIXTURE, "--plan", "--cpu-experts", "3")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--cpu-experts 3 is more than the 2 layers", refused.stderr)


if __name__ == "__main__":
    if json.loads(run("devices", "--json").stdout)["devices"][0]["id"] != "gpu:0":
        print("SKIPPED: there is no GPU, not even a software one")
        sys.exit(0)
    unittest.main()
