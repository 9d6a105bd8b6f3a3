"""Servers as processes and clients by hand, for the measurements beside this file: what a client costs is taken from the server that it measures on a
small machine, so that pieces of a stream are counted, not parsed. Needs nothing but Python 3.9."""
import asyncio
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

WORDS = ("time year people way day man thing woman life child world school state family student group country problem hand part place case week "
         "company system program question work government number night point home water room mother area money story fact month lot right study "
         "book eye job word business issue side kind head house service friend father power hour game line end member law car city community "
         "name president team minute idea body information back parent face others level office door health person art war").split()


def words(source, n):
    """n words, so many tokens or a few more."""
    return " ".join(source.choice(WORDS) for _ in range(n))


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, round(p / 100 * (len(values) - 1)))] if values else float("nan")


def split_flags():
    """The arguments before and behind "--"."""
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    return given[:at], given[at + 1:]


def add_sides(parser):
    parser.add_argument("--puna", action="append", default=[], help="the program, and flags of its own")
    parser.add_argument("--peer", action="append", default=[], help="a command, and flags of its own")
    parser.add_argument("--output", help="a file for the figures as JSON")


def sides(args):
    """Who is measured: names and commands."""
    ours = [("puna", [command[0], "serve", *command[1:]]) for command in map(shlex.split, args.puna)]
    return ours + [("peer", shlex.split(command)) for command in args.peer]


def save(args, report):
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`command` with {port} in it, from when /health says 200 until it is ended."""

    def __init__(self, command, name="server", patience=300):
        self.name, self.port = name, free_port()
        began = time.perf_counter()
        self.process = subprocess.Popen([part.replace("{port}", str(self.port)) for part in command], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        while self.get("/health")[0] != 200:
            if self.process.poll() is not None or time.perf_counter() - began > patience:
                raise RuntimeError(f"{' '.join(command)} does not serve")
            time.sleep(0.002)
        self.ready_ms = (time.perf_counter() - began) * 1e3

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metric(self, name):
        """The sum over its labels, or None."""
        values = [float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics")[1].splitlines()
                  if line.startswith((name + " ", name + "{"))]
        return sum(values) if values else None

    def status(self, key):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1])
        raise KeyError(key)

    def rss_mib(self):
        return self.status("VmRSS") / 1024

    def threads(self):
        return self.status("Threads")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Reply:
    """What came: times of the pieces in seconds from when the request was sent, and the bytes."""

    def __init__(self):
        self.began, self.pieces, self.data, self.whole = time.perf_counter(), [], b"", False

    @property
    def status(self):
        return int(self.data.split(b" ", 2)[1]) if self.data.startswith(b"HTTP/") else 0

    @property
    def body(self):
        """Without the marks of a chunked body."""
        head, _, rest = self.data.partition(b"\r\n\r\n")
        if b"chunked" not in head.lower():
            return rest
        out = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            n = int(size or b"0", 16)
            out, rest = out + rest[:n], rest[n + 2:]
        return out

    def events(self):
        """The JSON of a stream, server-sent or by lines."""
        for line in self.body.decode("utf-8", "replace").splitlines():
            text = line[6:] if line.startswith("data: ") else line
            if text.startswith("{") and text.endswith("}"):  # a stream that was cut off ends anywhere
                yield json.loads(text)

    def texts(self):
        """Of a chat's stream, the text of each piece."""
        found = (choice["delta"].get("content") for event in self.events() for choice in event.get("choices") or [])
        return [text for text in found if text is not None]


async def ask(port, path, body, cut_after=None, reply=None):
    """Sends a request on a connection of its own and reads its reply, into `reply` where somebody looks on. `cut_after`: seconds, after which the
    client leaves."""
    mark = b'"content":"'  # what each piece of a text has and nothing else
    data = json.dumps(body).encode()
    reply = reply or Reply()
    writer = None

    async def talk():
        nonlocal writer
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
                     f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        while part := await reader.read(65536):
            reply.pieces += [time.perf_counter() - reply.began] * part.count(mark)
            reply.data += part
        reply.whole = True

    try:
        await (talk() if cut_after is None else asyncio.wait_for(talk(), cut_after))
    except (asyncio.TimeoutError, ConnectionError):
        pass
    finally:
        if writer and not reply.whole and random.random() < 0.5:
            writer.transport.abort()
        if writer:
            writer.close()
    return reply


def chat(prompt, n_tokens, system=None, **more):
    messages = [{"role": "system", "content": system}] if system else []
    return {"model": "m", "stream": True, "stream_options": {"include_usage": True}, "max_tokens": n_tokens, "temperature": 0,
            "ignore_eos": True, "messages": messages + [{"role": "user", "content": prompt}], **more}
