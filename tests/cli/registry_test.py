#!/usr/bin/env python3
"""Push to and pull from a real registry, Debian's docker-registry (package docker-registry), which runs for the test on loopback.

usage: tests/cli/registry_test.py PUNA

Where the program is neither installed nor in third_party/cache it prints SKIPPED: and ends with code 0. What the registry sent is counted by its access log.
"""
import random
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from own_home import MODEL, PUNA, OwnHome

# tools/setup --check unpacks it.
UNPACKED = Path(__file__).resolve().parents[2] / "third_party/cache/docker-registry/usr/bin/docker-registry"
REGISTRY = shutil.which("docker-registry") or (str(UNPACKED) if UNPACKED.exists() else None)
CONFIG = """version: 0.1
log: {{level: info, formatter: text}}
storage: {{filesystem: {{rootdirectory: {root}}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:0"}}
"""
BIG_BYTES = 48_000_000  # several parts, and long enough for a second pull to come while the first runs
SEED = 20261126
SENT = re.compile(r'"GET (\S+) HTTP/1.1" 20[06] (\d+)')


class Registry(OwnHome):
    def setUp(self):
        super().setUp()
        (self.path / "config.yml").write_text(CONFIG.format(root=self.path / "registry"))
        self.log = open(self.path / "log", "w+b")  # noqa: SIM115, closed below
        self.addCleanup(self.log.close)
        server = subprocess.Popen([REGISTRY, "serve", "config.yml"], cwd=self.path, stdout=self.log, stderr=subprocess.STDOUT)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        while not (found := re.search(r"listening on 127\.0\.0\.1:(\d+)", self.logged())):
            self.assertIsNone(server.poll(), self.logged())
        self.host = f"127.0.0.1:{found[1]}"

    def logged(self):
        return (self.path / "log").read_text(errors="replace")

    def sent_bytes(self, digest):
        """What the registry has sent of a blob."""
        return sum(int(n) for path, n in SENT.findall(self.logged()) if path.endswith(digest))

    def add_big(self, name):
        """A model of random weights, by its address."""
        folder = self.path / "served"
        folder.mkdir()
        (folder / "big.gguf").write_bytes(b"GGUF" + random.Random(SEED).randbytes(BIG_BYTES))
        self.run_puna("pull", f"{self.serve_folder(folder)}/big.gguf", "--insecure", "--as", name)

    def add_small(self, name):
        """A model with all that a Modelfile says."""
        (self.path / "Modelfile").write_text(
            f'FROM {MODEL}\nTEMPLATE """{{{{ .System }}}}|{{{{ .Prompt }}}}"""\nSYSTEM Be brief.\nPARAMETER stop "~~~~"\nPARAMETER top_k 3\n'
            "MESSAGE user Hi\nMESSAGE assistant Hello\nLICENSE Free.\n")
        self.run_puna("create", name)

    def files(self):
        """The bytes of all manifests and blobs, by path."""
        models = self.path / "home/models"
        return {str(path.relative_to(models)): path.read_bytes() for folder in ("manifests", "blobs") for path in (models / folder).rglob("*") if path.is_file()}

    def test_what_is_pushed_removed_and_pulled_is_the_same(self):
        names = [f"{self.host}/test/big:v1", f"{self.host}/test/small:latest"]
        self.add_big("big")
        self.run_puna("cp", "big", names[0])
        self.run_puna("rm", "big")
        self.add_small(names[1])
        before, shown = self.files(), self.told("show", names[1])
        for name in names:
            self.assertIn("--insecure", self.run_puna("push", name, code=1).stderr)
            self.run_puna("push", name, "--insecure")
            self.run_puna("push", name, "--insecure")  # all is there already
            self.run_puna("rm", name)
        self.assertEqual(self.files(), {})
        for name in names:
            self.run_puna("pull", name, "--insecure")
        self.assertEqual(self.files().keys(), before.keys())
        self.assertTrue(self.files() == before)
        self.assertTrue(self.told("verify")["fine"])
        modified = {"modified_at": ""}
        self.assertEqual({**self.told("show", names[1]), **modified}, {**shown, **modified})
        self.run_puna("run", names[1], "Hi", "-n", "1", "--device", "cpu", "--local")
        self.run_puna("pull", f"{self.host}/test/nothing", "--insecure", code=1)

    def test_two_pulls_of_one_model_read_it_once(self):
        name = f"{self.host}/test/big:v1"
        self.add_big("big")
        self.run_puna("cp", "big", name)
        self.run_puna("push", name, "--insecure")
        manifest = next((self.path / "home/models/manifests").rglob("v1")).read_text()
        digest = re.search(r'image\.model","digest":"(sha256:\w+)"', re.sub(r"\s", "", manifest))[1]
        self.assertEqual(self.sent_bytes(digest), 0)
        self.run_puna("rm", name)
        self.run_puna("rm", "big")
        self.assertEqual(self.files(), {})
        pulls = [subprocess.Popen([PUNA, "pull", name, "--insecure"], env=self.env, stdout=subprocess.PIPE) for _ in range(2)]
        paths = {pull.communicate(timeout=100)[0] for pull in pulls}
        self.assertEqual([pull.returncode for pull in pulls], [0, 0])
        self.assertEqual(len(paths), 1)
        blob = Path(paths.pop().decode().strip())
        self.assertEqual(blob.stat().st_size, BIG_BYTES + 4)
        self.assertTrue(self.told("verify")["fine"])
        self.assertEqual(self.sent_bytes(digest), BIG_BYTES + 4, self.logged())


if __name__ == "__main__":
    if not REGISTRY:
        print("SKIPPED: there is no docker-registry here; Debian's package of that name has it.")
    else:
        unittest.main()
