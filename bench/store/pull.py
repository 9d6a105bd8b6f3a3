#!/usr/bin/env python3
"""Pulls a large model from a local registry that behaves, and from one that does not, beside curl.

usage: bench/store/pull.py PUNA [--gigabytes 1] [--runs 3] [--json FILE]

The registry speaks as much of the protocol as a pull needs, with the digests of chunks that ollama's tells. Rounds:
  plain    nothing goes wrong: seconds beside `curl` of the same blob to the same disk, in turns; `curl_kept_s` is curl and then `sync -d`, as a
           pull has its bytes on the disk when it ends; `..._cpu_s` is the processor's time, which others on the machine change least
  cuts     every connection ends after 20 MB, and one answer of 4 MiB is wrong once: seconds, and bytes sent over bytes wanted
  blind    the same without digests of chunks: each is fetched again until the whole is right
  two      two processes pull the same model: bytes sent
Exit code 1 when what was pulled is not the model.
"""
import argparse
import hashlib
import http.server
import json
import os
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MIB = 1 << 20
CUT_BYTES = 20_000_000
CHUNK_BYTES = 4 * MIB
PREFIX = "/v2/bench/model/"


class Registry(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self, blob, digest, chunks):
        super().__init__(("127.0.0.1", 0), Handler)
        self.blob, self.digest, self.size = blob, digest, blob.stat().st_size
        self.chunks = chunks
        config = b"{}"
        self.small = {"sha256:" + hashlib.sha256(config).hexdigest(): config}
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": digest, "size": self.size}
        name, body = next(iter(self.small.items()))
        self.manifest = json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "digest": name, "size": len(body)},
            "layers": [layer]}).encode()
        self.reset()

    def reset(self, cuts=False, wrong=False, chunksums=True):
        self.cuts, self.wrong, self.chunksums = cuts, wrong, chunksums
        self.sent, self.lock = 0, threading.Lock()

    @property
    def host(self):
        return f"127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def text(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server = self.server
        if self.path == PREFIX + "manifests/latest":
            self.text(server.manifest)
        elif self.path == PREFIX + "chunksums/" + server.digest and server.chunksums:
            self.text(server.chunks)
        elif self.path.removeprefix(PREFIX + "blobs/") in server.small:
            self.text(server.small[self.path.removeprefix(PREFIX + "blobs/")])
        elif self.path == PREFIX + "blobs/" + server.digest:
            self.send_blob()
        else:
            self.text(b"", 404)

    def send_blob(self):
        server = self.server
        first, last = 0, server.size - 1
        if asked := self.headers.get("Range"):
            first, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(first), min(int(end or last), last)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{server.size}")
        else:
            self.send_response(200)
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.wfile.flush()
        end = last + 1
        if server.cuts and end - first > CUT_BYTES:
            end = first + CUT_BYTES
            self.close_connection = True
        with open(server.blob, "rb") as file:
            with server.lock:
                wrong, server.wrong = server.wrong and first > server.size // 2, server.wrong and first <= server.size // 2
            if wrong:
                piece = bytearray(os.pread(file.fileno(), min(CHUNK_BYTES, end - first), first))
                piece[len(piece) // 2] ^= 1
                self.connection.sendall(piece)
                self.count(len(piece))
                first += len(piece)
            while first < end:
                try:
                    n = os.sendfile(self.connection.fileno(), file.fileno(), first, min(MIB, end - first))
                except ConnectionError:
                    n = 0
                if n == 0:  # the client has gone
                    self.close_connection = True
                    break
                first += n
                self.count(n)

    def count(self, n):
        with self.server.lock:
            self.server.sent += n


def make_blob(path, n_bytes):
    """Random bytes that begin as a GGUF file; their digest and the list of those of chunks."""
    whole, lines = hashlib.sha256(), []
    with open(path, "wb") as file:
        for first in range(0, n_bytes, CHUNK_BYTES):
            chunk = os.urandom(min(CHUNK_BYTES, n_bytes - first))
            if first == 0:
                chunk = b"GGUF" + chunk[4:]
            file.write(chunk)
            whole.update(chunk)
            lines.append(f"sha256:{hashlib.sha256(chunk).hexdigest()} {first}-{first + len(chunk) - 1}\n")
    return "sha256:" + whole.hexdigest(), "".join(lines).encode()


def timed(command, env=None):
    """Seconds, and those of the processor."""
    start = time.monotonic()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return took, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("puna")
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="puna-pull-"))
    try:
        digest, chunks = make_blob(folder / "blob", int(options.gigabytes * 1e9))
        registry = Registry(folder / "blob", digest, chunks)
        threading.Thread(target=registry.serve_forever, daemon=True).start()
        home = folder / "home"
        env = {**os.environ, "PUNA_HOME": str(home), "HOME": str(folder)}
        name = f"{registry.host}/bench/model"
        blob = home / "models/blobs" / digest.replace(":", "-")
        pull = [options.puna, "pull", name, "--insecure"]

        def check():
            with open(blob, "rb") as file:
                if "sha256:" + hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    sys.exit("what was pulled is not the model")
            shutil.rmtree(home)

        result = {"bytes": registry.size, "plain": [], "rounds": {}}
        for _ in range(options.runs):
            registry.reset()
            ours, ours_cpu = timed(pull, env)
            check()
            registry.reset()
            curl, curl_cpu = timed(["curl", "-sf", "-o", str(folder / "curl"), f"http://{registry.host}{PREFIX}blobs/{digest}"])
            kept = curl + timed(["sync", "-d", str(folder / "curl")])[0]
            os.remove(folder / "curl")
            result["plain"].append({
                "puna_s": round(ours, 3), "curl_s": round(curl, 3), "ratio": round(curl / ours, 3),
                "curl_kept_s": round(kept, 3), "ratio_kept": round(kept / ours, 3),
                "puna_cpu_s": round(ours_cpu, 3), "curl_cpu_s": round(curl_cpu, 3)})
        result["best"] = {key: max(run[key] for run in result["plain"]) for key in ("ratio", "ratio_kept")}
        for round_name, how in [("cuts", {"cuts": True, "wrong": True}),
                                ("blind", {"cuts": True, "wrong": True, "chunksums": False})]:
            registry.reset(**how)
            took, _ = timed(pull, env)
            result["rounds"][round_name] = {"seconds": round(took, 3), "sent_over_size": round(registry.sent / registry.size, 4)}
            check()
        registry.reset()
        runs = [subprocess.Popen(pull, env=env, stdout=subprocess.DEVNULL) for _ in range(2)]
        if any(run.wait() for run in runs):
            sys.exit("one of two pulls failed")
        result["rounds"]["two"] = {"sent_over_size": round(registry.sent / registry.size, 4)}
        check()
        print(json.dumps(result, indent=1))
        if options.json:
            Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
