#!/usr/bin/env python3
"""Pulls a large model from a local registry that behaves, and from one that does not, beside curl.

usage: bench/store/pull.py PUNA [--gigabytes 1] [--runs 5] [--nginx NGINX] [--link MB_PER_S] [--folder DIR] [--json FILE]

The registry speaks as much of the protocol as a pull needs, with the digests of chunks that ollama's tells. Rounds:
  plain    nothing goes wrong: seconds beside `curl` of the same blob to the same disk, in turns. A pull has checked the SHA-256 of its bytes and has
           them on the disk when it ends, so `curl_sha_s` is curl and then `openssl dgst -sha256`, `curl_all_s` these and `sync -d`. `..._cpu_s` is the processor's
           time, which others on the machine change least. Medians; with --nginx that program serves, which costs less than this one
  link     with --link: the same from a server that sends so many MB a second, over all connections
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
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MIB = 1 << 20
CUT_BYTES = 20_000_000
CHUNK_BYTES = 4 * MIB
PACED_BYTES = 256 << 10
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

    def reset(self, cuts=False, wrong=False, chunksums=True, link=0):
        self.cuts, self.wrong, self.chunksums = cuts, wrong, chunksums
        self.sent, self.lock = 0, threading.Lock()
        self.link, self.free_at = link, 0.0  # MB/s, and when the link has sent what it was given

    def pace(self, n):
        """Waits until the link has sent n bytes more."""
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + n / (self.link * 1e6)
            wait = self.free_at - time.monotonic()
        time.sleep(max(0, wait))

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
            piece_bytes = PACED_BYTES if server.link else MIB
            while first < end:
                if server.link:
                    server.pace(min(piece_bytes, end - first))
                try:
                    n = os.sendfile(self.connection.fileno(), file.fileno(), first, min(piece_bytes, end - first))
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


class Nginx:
    """The same well-behaved registry as files that nginx serves."""

    def __init__(self, program, registry, folder):
        root = folder / "nginx"
        model = root / PREFIX.strip("/")
        for name, body in [("manifests/latest", registry.manifest), (f"chunksums/{registry.digest}", registry.chunks),
                           *((f"blobs/{digest}", body) for digest, body in registry.small.items())]:
            (model / name).parent.mkdir(parents=True, exist_ok=True)
            (model / name).write_bytes(body)
        os.link(registry.blob, model / f"blobs/{registry.digest}")
        with socketserver.TCPServer(("127.0.0.1", 0), None) as unused:
            self.host = f"127.0.0.1:{unused.server_address[1]}"
        (root / "conf").write_text(
            f"daemon off; master_process off; pid {root}/pid; error_log {root}/errors; events {{}}\n"
            + "http { access_log off; sendfile on; " + " ".join(f"{kind}_temp_path {root}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + f" server {{ listen {self.host}; root {root}; }} }}\n")
        self.process = subprocess.Popen([program, "-p", str(root), "-c", "conf", "-e", str(root / "errors")])
        while subprocess.run(["curl", "-sf", "-o", os.devnull, f"http://{self.host}{PREFIX}manifests/latest"]).returncode != 0:
            if self.process.poll() is not None:
                sys.exit(f"{program} does not serve: {(root / 'errors').read_text()}")

    def end(self):
        self.process.terminate()
        self.process.wait()


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


def rounds_of(runs, host, options, registry, folder, env, check):
    """Seconds of a pull and of curl, in turns."""
    rows = []
    out = str(folder / "curl")
    for _ in range(runs):
        registry.reset(link=options.link if host == registry.host else 0)
        ours, ours_cpu = timed([options.puna, "pull", f"{host}/bench/model", "--insecure"], env)
        check(host)
        registry.reset(link=registry.link)
        curl, curl_cpu = timed(["curl", "-sf", "-o", out, f"http://{host}{PREFIX}blobs/{registry.digest}"])
        hashed, hashed_cpu = timed(["openssl", "dgst", "-sha256", out])
        kept, _ = timed(["sync", "-d", out])
        os.remove(out)
        rows.append({"puna_s": ours, "curl_s": curl, "curl_sha_s": curl + hashed, "curl_all_s": curl + hashed + kept,
                     "puna_cpu_s": ours_cpu, "curl_cpu_s": curl_cpu, "sha_cpu_s": hashed_cpu})
    medians = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    for name in ("curl", "curl_sha", "curl_all"):
        medians[f"rate_over_{name}"] = statistics.median(row[f"{name}_s"] / row["puna_s"] for row in rows)
    tidy = lambda row: {key: round(value, 3) for key, value in row.items()}
    return {"median": tidy(medians), "runs": [tidy(row) for row in rows]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("puna")
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--nginx", help="this program serves in the round plain")
    parser.add_argument("--link", type=float, default=0, help="MB/s of a round more")
    parser.add_argument("--folder", help="where the files lie; default: that of temporary ones")
    parser.add_argument("--faults-only", action="store_true", help="without the rounds that take time")
    parser.add_argument("--json")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="puna-pull-", dir=options.folder))
    nginx = None
    try:
        digest, chunks = make_blob(folder / "blob", int(options.gigabytes * 1e9))
        registry = Registry(folder / "blob", digest, chunks)
        threading.Thread(target=registry.serve_forever, daemon=True).start()
        home = folder / "home"
        env = {**os.environ, "PUNA_HOME": str(home), "HOME": str(folder)}
        blob = home / "models/blobs" / digest.replace(":", "-")
        pull = [options.puna, "pull", f"{registry.host}/bench/model", "--insecure"]

        def check(_=None):
            with open(blob, "rb") as file:
                if "sha256:" + hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    sys.exit("what was pulled is not the model")
            shutil.rmtree(home)

        result = {"bytes": registry.size, "processors": os.cpu_count(), "load": os.getloadavg()[0], "server": "nginx" if options.nginx else "python"}
        if not options.faults_only:
            nginx = Nginx(options.nginx, registry, folder) if options.nginx else None
            result["plain"] = rounds_of(options.runs, nginx.host if nginx else registry.host, argparse.Namespace(puna=options.puna, link=0), registry, folder,
                                        env, check)
            if options.link:
                result["link"] = {"mb_per_s": options.link, **rounds_of(options.runs, registry.host, options, registry, folder, env, check)}
        result["rounds"] = {}
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
        if nginx:
            nginx.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
