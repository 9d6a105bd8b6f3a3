#!/usr/bin/env python3
"""Kills what changes the store at random moments, one command or two at once, and looks whether the store is whole each time.

usage: tests/cli/kills_test.py PUNA [--kills 12] [--seed 20261126] [--verbose]

Each round starts one or two of pull (of an address, of a registry), create, cp and rm, kills them with SIGKILL at a moment within the time
that they take, and has `puna verify` read the store: nothing may be damaged, and a model that nobody touched be there. In
every second round, and at the end, what is left over is collected, and then every file has an owner. In the end each command is run
to its end over what the killed ones left. --verbose prints a line a round. Exit code 1 with the round, its commands and what is wrong.
"""
import argparse
import hashlib
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MODEL = Path(__file__).resolve().parent.parent / "goldens/llama-q4_0.gguf"
PIECE_BYTES, PIECE_S = 1 << 16, 0.002  # so slow that a pull has a middle to be killed in
KEPT = "kept:latest"
FAR = 1.0  # times its duration within which a command is killed


class Registry(http.server.BaseHTTPRequestHandler):
    """A file, and the same as a model of a registry, with a system message and parameters; slowly."""

    protocol_version = "HTTP/1.1"
    bodies = {}  # by path

    def log_message(self, *args):
        pass

    def do_GET(self):
        body = self.bodies.get(self.path)
        status = 404 if body is None else 200
        body = body or b""
        first, last = 0, len(body) - 1
        if body and (asked := self.headers.get("Range")):
            status = 206
            first, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(first), min(int(end or last), last)
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        try:
            for at in range(first, last + 1, PIECE_BYTES):
                self.wfile.write(body[at : min(at + PIECE_BYTES, last + 1)])
                time.sleep(PIECE_S)
        except ConnectionError:
            self.close_connection = True  # who asked was killed


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # who asked was killed


def serve(weights):
    """The address of a server of the weights at /big.gguf and as the model bench/model."""
    layers = []
    prefix = "/v2/test/model"
    for kind, body in [("model", weights), ("system", b"Be brief."), ("params", b'{"top_k": 3}'), ("config", b"{}")]:
        digest = "sha256:" + hashlib.sha256(body).hexdigest()
        Registry.bodies[f"{prefix}/blobs/{digest}"] = body
        layers.append({"mediaType": f"application/vnd.ollama.image.{kind}", "digest": digest, "size": len(body)})
    config = {**layers.pop(), "mediaType": "application/vnd.docker.container.image.v1+json"}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": config, "layers": layers}
    Registry.bodies[f"{prefix}/manifests/latest"] = json.dumps(manifest).encode()
    Registry.bodies["/big.gguf"] = weights
    server = Server(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"127.0.0.1:{server.server_port}"


class Store:
    def __init__(self, puna, folder):
        self.puna, self.models = puna, folder / "home/models"
        self.env = {**os.environ, "HOME": str(folder), "PUNA_HOME": str(folder / "home")}
        for name in ["OLLAMA_MODELS", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "LLAMA_CACHE"]:
            self.env.pop(name, None)

    def start(self, command):
        return subprocess.Popen([self.puna, *map(str, command)], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, *command, may_fail=False):
        done = subprocess.run([self.puna, *map(str, command)], env=self.env, capture_output=True, text=True, errors="replace", timeout=100)
        if done.returncode != 0 and not may_fail:
            raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}{done.stdout}")
        return done.stdout

    def check(self, collects):
        """What is wrong with the store; "" where nothing is."""
        found = json.loads(self.run("verify", "--json", *(["--repair", "--min-age", "0"] if collects else []), may_fail=True))
        damage = [each for each in found["findings"] if each["damage"]]
        if damage or not found["fine"]:
            return f"damaged: {damage}"
        names = [model["name"] for model in json.loads(self.run("list", "--json"))["models"]]
        if KEPT not in names:
            return f"a model that nobody touched is gone; there are {names}"
        return self.without_owner() if collects else ""

    def without_owner(self):
        owned = {self.models / "version"}
        for path in (self.models / "manifests").rglob("*"):
            if not path.is_file():
                continue
            manifest = json.loads(path.read_text())
            owned.add(path)
            owned.update(self.models / "blobs" / each["digest"].replace(":", "-") for each in [manifest["config"], *manifest["layers"]])
        files = {path for path in self.models.rglob("*") if not path.is_dir()}
        if missing := owned - files:
            return f"missing: {sorted(map(str, missing))}"
        return f"of nobody: {sorted(map(str, files - owned))}" if files - owned else ""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("puna", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=20261126)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = serve(b"GGUF" + chance.randbytes(2_000_000))
        store = Store(options.puna, folder)
        (folder / "tiny.gguf").write_bytes(MODEL.read_bytes())
        (folder / "Modelfile").write_text("FROM ./tiny.gguf\nSYSTEM Be kind.\nPARAMETER top_k 4\n")
        commands = {
            "pull an address": ["pull", f"http://{host}/big.gguf", "--insecure", "--as", "address"],
            "pull of a registry": ["pull", f"{host}/test/model", "--insecure"],
            "create": ["create", "made", "-f", folder / "Modelfile"],
            "create, quantized": ["create", "small", "-f", folder / "Modelfile", "-q", "q8_0"],
            "cp": ["cp", "kept", "third"],
            "rm": ["rm", "third"],
            "rm what is made": ["rm", "made"],
            "rm what is pulled": ["rm", "address"],
        }
        store.run("create", "kept", "-f", folder / "Modelfile")
        durations = {}
        for what, command in commands.items():
            start = time.monotonic()
            store.run(*command)
            durations[what] = time.monotonic() - start
        n_killed = n_ended = rounds = 0
        while n_killed < options.kills:
            rounds += 1
            chosen = chance.sample(sorted(commands), chance.choice([1, 2]))
            runs = [store.start(commands[what]) for what in chosen]
            time.sleep(chance.uniform(0, FAR * max(durations[what] for what in chosen)))
            for run in runs:
                if run.poll() is None:
                    run.send_signal(signal.SIGKILL)
                run.wait()
                n_killed += run.returncode == -signal.SIGKILL
                n_ended += run.returncode != -signal.SIGKILL
            wrong = store.check(collects=rounds % 2 == 0)
            if options.verbose or wrong:
                print(f"round {rounds}: {' beside '.join(chosen)}: {wrong or 'fine'}", flush=True)
            if wrong:
                return 1
        for command in commands.values():
            store.run(*command, may_fail=command[0] == "rm")
        if wrong := store.check(collects=True):
            print(f"in the end: {wrong}")
            return 1
    print(f"{n_killed} killed, {n_ended} ended before, in {rounds} rounds with seed {options.seed}: the store was whole each time.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
