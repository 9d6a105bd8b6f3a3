#!/usr/bin/env python3
"""Copies of a model, each on a GPU of its own, where the server manages several models or sends its one to sleep: on two software GPUs.
A server that was started is ended by its id.

usage: tests/cli/replicas_test.py PUNA
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import many_models_test as many

MODEL = "llama-q4_0"
ON_TWO = ["--device", "gpu:0,gpu:1"]
# Two texts without a common beginning, longer than a page of the cache.
CHATS = [[3 + (i * 7) % 90 for i in range(70)], [5 + (i * 11) % 90 for i in range(70)]]


def two_gpus(folder):
    """The environment in which one software driver stands for two cards; None where there is none."""
    own = os.environ.get("VK_DRIVER_FILES", "").split(":")
    drivers = [Path(each) for each in own if each] or sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd.*.json"))
    if not drivers:
        return None
    second = Path(folder) / "second.json"
    second.write_text(drivers[0].read_text())
    names = f"{drivers[0]}:{second}"
    env = {"VK_DRIVER_FILES": names, "VK_ICD_FILENAMES": names, "PUNA_WEBGPU": "wgpu"}
    listed = subprocess.run([many.PUNA, "devices", "--json"], env={**os.environ, **env}, capture_output=True, text=True, timeout=many.SECONDS)
    ids = [each["id"] for each in json.loads(listed.stdout)["devices"]] if listed.returncode == 0 else []
    return env if "gpu:1" in ids else None


class Replicas(many.Many):
    # Those of the class it comes from are run by their own file.
    for name in [each for each in vars(many.Many) if each.startswith("test_")]:
        locals()[name] = None
    del name

    def write(self, server, prompt):
        status, answer = server.write(MODEL, prompt=prompt)
        self.assertEqual(status, 200, answer)
        return answer["tokens"], answer["timings"]["cache_n"]

    def check_copies(self, server):
        """Texts are those of the CPU, each chat stays where its history is, and both copies are at work."""
        with self.server("--models-dir", self.models) as on_cpu:
            alone = [self.write(on_cpu, chat)[0] for chat in CHATS]
        first = [self.write(server, chat) for chat in CHATS]
        self.assertEqual([tokens for tokens, _ in first], alone)
        again = [self.write(server, chat) for chat in CHATS]
        self.assertEqual([tokens for tokens, _ in again], alone)
        self.assertTrue(all(n_known >= 64 for _, n_known in again), again)
        self.assertEqual(len(server.ask(f"/slots?model={MODEL}")[1]), 8)  # twice --parallel

    def test_of_many_models(self):
        with self.server("--models-dir", self.models, *ON_TWO, "--replicas", "2", **GPUS) as server:
            self.check_copies(server)
            for gpu in ["gpu:0", "gpu:1"]:
                self.assertRegex(server.said(), rf"MiB of {gpu} were planned")

    def test_of_one_of_them(self):
        presets = self.path / "presets.ini"
        presets.write_text(f"[{MODEL}]\nreplicas = auto\n")
        with self.server("--models-dir", self.models, "--models-preset", presets, *ON_TWO, **GPUS) as server:
            for model, n in [("gemma3-q8_0", 4), (MODEL, 8)]:
                self.assertEqual(server.write(model)[0], 200)
                self.assertEqual(len(server.ask(f"/slots?model={model}")[1]), n)

    def test_of_one_that_sleeps(self):
        model = self.models / f"{MODEL}.gguf"
        with self.server("--model", model, *ON_TWO, "--replicas", "auto", "--sleep-idle-seconds", "0.3", **GPUS) as server:
            self.check_copies(server)
            server.wait(lambda: server.ask("/props")[1]["is_sleeping"])
            woken = [self.write(server, chat)[1] for chat in CHATS]
            self.assertTrue(all(n_known >= 64 for n_known in woken), f"each copy knows its texts after it has slept: {woken}")

    def test_more_than_there_are(self):
        with self.server("--models-dir", self.models, *ON_TWO, "--replicas", "3", **GPUS) as server:
            status, answer = server.write(MODEL)
            self.assertEqual(status, 500, answer)
            self.assertIn("3 replicas ask for as many GPUs, but --device gpu:0,gpu:1 means 2", answer["error"]["message"])
        with self.server("--models-dir", self.models, "--replicas", "auto") as server:  # of no GPU
            self.assertEqual(server.write(MODEL)[0], 200)
            self.assertEqual(len(server.ask(f"/slots?model={MODEL}")[1]), 4)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GPUS = two_gpus(folder)
        if GPUS is None:
            print("SKIPPED: there is no software GPU that could stand for two")
            sys.exit(0)
        unittest.main()
