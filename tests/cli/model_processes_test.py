#!/usr/bin/env python3
"""`puna serve` without a model has a process for each: killed under load of two models, it takes its own texts with it and nothing else,
and comes again after a pause; all end with the server, also when that is killed; what they were planned to take is what they take.
Processes that were started are ended by their ids.

usage: tests/cli/model_processes_test.py PUNA
"""
import contextlib
import json
import os
import re
import signal
import socket
import threading
import time
import unittest
import urllib.error
from pathlib import Path

import many_models_test as many

SECONDS = many.SECONDS
MODELS = ["llama-q4_0", "gemma3-q8_0"]
# Long enough to be killed in the middle.
LONG = {**many.PROMPT, "n_predict": 200}


def children_of(process):
    out = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "status").read_text()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"\nPPid:\t{process}\n" in status and b"serve-child" in words:
            out[words[2].decode()] = int(entry.name)
    return out


def is_there(process):
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


class Processes(many.Many):
    # Those of the class it comes from are run by their own file.
    for name in [each for each in vars(many.Many) if each.startswith("test_")]:
        locals()[name] = None
    del name

    def stream(self, server, model, **more):
        """The bytes of a stream up to its end, and its status."""
        try:
            with server.open("/completion", {**LONG, "model": model, "stream": True, **more}) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def test_a_process_that_is_killed_under_load_takes_its_own_texts_with_it_and_comes_again(self):
        with self.server("--models-dir", self.models) as server:
            alone = {model: self.stream(server, model) for model in MODELS}
            without_times = lambda text: re.sub(rb'"timings":\{[^}]*\}|"[a-z_]*(ms|per_second|time)[a-z_]*":[0-9.e+-]+', b"", text)
            tokens = lambda text: re.findall(rb'"tokens":\[([^\]]*)\]', text)
            killed, other = MODELS
            wrong, n_other, n_killed, over = [], [0], {200: 0, 502: 0, "event": 0}, threading.Event()

            def load_other():
                while not over.is_set():
                    status, text = self.stream(server, other)
                    n_other[0] += 1
                    if status != 200 or tokens(text) != tokens(alone[other][1]) or b'"error"' in text:
                        wrong.append((status, without_times(text)[:300]))

            def load_killed():
                while not over.is_set():
                    status, text = self.stream(server, killed)
                    if status == 200 and b'data: {"error":' in text:
                        # The last of what came is whole, and before it everything is as it was.
                        came = tokens(text)
                        if came != tokens(alone[killed][1])[:len(came)] or not text.endswith(b"}\n\n"):
                            wrong.append((status, text[-300:]))
                        n_killed["event"] += 1
                    elif status == 200 and tokens(text) == tokens(alone[killed][1]):
                        n_killed[200] += 1
                    elif status == 502:
                        # Its socket may be seen to be gone before its end is.
                        self.assertRegex(json.loads(text)["error"]["message"], "has ended|cannot be reached")
                        n_killed[502] += 1
                        time.sleep(0.05)
                    else:
                        wrong.append((status, text[-300:]))

            clients = [threading.Thread(target=each) for each in [load_other, load_other, load_killed, load_killed]]
            for each in clients:
                each.start()
            try:
                ids, other_id = set(), children_of(server.process.pid)[other]
                for _ in range(4):
                    server.wait(lambda: children_of(server.process.pid).get(killed) not in {None, *ids} and
                                server.state(killed) == "loaded")
                    ids.add(children_of(server.process.pid)[killed])
                    time.sleep(0.1)
                    os.kill(children_of(server.process.pid)[killed], signal.SIGKILL)
                    server.wait(lambda: server.models()[killed]["status"].get("failed"))
                    self.assertIn("signal 9", server.models()[killed]["status"]["error"])
                server.wait(lambda: server.state(killed) == "loaded")
                self.assertEqual(children_of(server.process.pid)[other], other_id)
            finally:
                over.set()
                for each in clients:
                    each.join()
            self.assertEqual(wrong, [])
            self.assertGreater(n_other[0], 0)
            self.assertGreater(n_killed[200], 0)
            self.assertGreater(n_killed[502] + n_killed["event"], 0)
            status, text = self.stream(server, killed)
            self.assertEqual((status, tokens(text)), (200, tokens(alone[killed][1])))
            print(f"killed 4 times: {n_other[0]} streams of the other, all equal; of its own {n_killed}")

    def test_fifty_requests_by_turns_from_eight_clients_under_a_limit_that_holds_one(self):
        with self.server("--models-dir", self.models, "--models-max", "1") as server:
            alone = {model: server.write(model)[1]["tokens"] for model in MODELS}
            wrong, numbers, lock = [], iter(range(50)), threading.Lock()

            def client():
                while True:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    model = MODELS[number % 2]
                    status, body = server.write(model)
                    if status != 200 or body["tokens"] != alone[model]:
                        wrong.append((model, status, body))

            clients = [threading.Thread(target=client) for _ in range(8)]
            for each in clients:
                each.start()
            for each in clients:
                each.join()
            self.assertEqual(wrong, [])
            metrics = server.ask("/metrics")[1]
            count = lambda name: sum(int(n) for n in re.findall(rf"{name}\{{[^}}]*\}} (\d+)", metrics))
            loads, evictions, texts = (count(f"puna:{name}_total") for name in ["model_loads", "model_evictions", "texts"])
            self.assertEqual(texts, 52)
            self.assertGreaterEqual(evictions, 2)
            self.assertEqual(len(children_of(server.process.pid)), 1)
            print(f"52 requests by turns: {loads} loads, {evictions} evictions")

    def test_the_process_that_has_measured_a_model_loads_it_or_goes_with_who_waits(self):
        one, other = MODELS
        third = "third"
        many.shutil.copy(many.GOLDENS / "llama-q4_0.gguf", self.models / f"{third}.gguf")
        self.addCleanup((self.models / f"{third}.gguf").unlink)
        with self.server("--models-dir", self.models, "--models-max", "1", "--context-shift") as server:
            there = lambda: children_of(server.process.pid)
            takes = lambda model: [int(each) for each in re.findall(rf'puna:model_memory_bytes{{model="{model}",device="host"}} (\d+)',
                                                                    server.ask("/metrics")[1])]

            @contextlib.contextmanager
            def in_use(model):
                # A text without end, whose reader is behind.
                with server.open("/completion", {**LONG, "model": model, "stream": True, "n_predict": 1000000}) as reply:
                    reply.readline()
                    yield

            answers = []
            waits = threading.Thread(target=lambda: answers.append(server.write(other)[0]))
            with in_use(one):
                waits.start()
                server.wait(lambda: sorted(there()) == sorted(MODELS) and takes(other))
                self.assertEqual(server.state(other), "unloaded")
                self.assertLess(0, takes(other)[0])
                self.assertLess(takes(other)[0], takes(one)[0])
                process = there()[other]
            waits.join()
            self.assertEqual(answers, [200])
            self.assertEqual(there(), {other: process})
            # Nobody waits any more.
            with in_use(other):
                client = socket.create_connection(("127.0.0.1", server.port))
                body = json.dumps({**many.PROMPT, "model": third}).encode()
                client.sendall(b"POST /completion HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(body) + body)
                server.wait(lambda: third in there() and takes(third))
                client.close()
                server.wait(lambda: there() == {other: process})
                self.assertEqual(takes(third), [])
            self.assertEqual(server.write(third)[0], 200)

    def test_processes_end_with_the_server_that_is_killed(self):
        log = self.path / "killed"
        runtime = self.path / "run"
        runtime.mkdir()
        with open(log, "w") as file:
            process = many.subprocess.Popen([many.PUNA, "serve", "--device", "cpu", "--threads", "1", "--port", "0", "--models-dir", self.models],
                                            stdin=many.subprocess.DEVNULL, stdout=many.subprocess.DEVNULL, stderr=file, cwd=self.path,
                                            env={**self.env, "XDG_RUNTIME_DIR": str(runtime)})
        try:
            server = many.Server(process, log)
            for model in MODELS:
                self.assertEqual(server.write(model)[0], 200)
            children = children_of(process.pid)
            self.assertEqual(sorted(children), sorted(MODELS))
            folders = list(runtime.iterdir())
            self.assertEqual([each.stat().st_mode & 0o777 for each in folders], [0o700])
        finally:
            process.kill()
            process.wait()
        end = time.monotonic() + SECONDS
        while any(is_there(each) for each in children.values()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        # What it has left behind, the next one takes away.
        with self.server("--models-dir", self.models, XDG_RUNTIME_DIR=str(runtime)) as server:
            self.assertEqual(len(list(runtime.iterdir())), 1)
            self.assertFalse(folders[0].exists())
        self.assertEqual(list(runtime.iterdir()), [])

    def test_what_is_asked_of_one_model_is_answered_by_its_process(self):
        with self.server("--models-dir", self.models, "--models-max", "2") as server:
            one = MODELS[0]
            self.assertEqual(server.ask(f"/metrics?model={one}&autoload=false")[0], 400)
            self.assertEqual(server.write(one)[0], 200)
            self.assertEqual(server.ask(f"/props?model={one}")[1]["model_alias"], one)
            self.assertEqual(len(server.ask(f"/slots?model={one}")[1]), 4)
            page = server.ask(f"/metrics?model={one}")[1]
            self.assertIn(f'puna:texts_total{{model="{one}"}} 1', page)
            self.assertIn("llamacpp:tokens_predicted_total 4", page)
            self.assertIn("llamacpp:tokens_predicted_total 4", server.ask("/metrics")[1])
            self.assertEqual(server.ask("/metrics?model=none")[0], 404)
            self.assertEqual(server.write(one, cache_prompt="no")[0], 400)

    def test_a_model_that_sleeps_keeps_its_process_and_what_it_knows(self):
        with self.server("--models-dir", self.models, "--sleep-idle-seconds", "0.2") as server:
            one = MODELS[0]
            prompt = list(range(1, 65))
            first = server.write(one, prompt=prompt)[1]
            process = children_of(server.process.pid)[one]
            server.wait(lambda: server.state(one) == "sleeping")
            again = server.write(one, prompt=prompt)[1]
            self.assertEqual(again["tokens"], first["tokens"])
            self.assertGreaterEqual(again["tokens_cached"], 32)
            self.assertEqual(children_of(server.process.pid)[one], process)

    @unittest.skipIf(os.environ.get("PUNA_SANITIZE"), "SKIPPED: sanitizers take memory of their own beside what is planned")
    def test_what_was_planned_is_what_is_taken(self):
        # A cache beside which the three MiB of code and stacks that a load touches are little.
        with self.server("--models-dir", self.models, "--ctx-size", "1000000") as server:
            for model in MODELS:
                self.assertEqual(server.write(model)[0], 200)
            figures = re.findall(r"(\S+): ([0-9.]+) MiB of memory were planned, ([0-9.]+) are taken", server.said())
            self.assertEqual(sorted(each[0] for each in figures), sorted(MODELS))
            for model, planned, taken in figures:
                print(f"{model}: {planned} MiB planned, {taken} MiB taken")
                self.assertLess(abs(float(taken) / float(planned) - 1), 0.05, model)

    def test_a_limit_of_descriptors_that_holds_no_more_processes_is_what_is_said(self):
        with self.server("--load-timeout", "60", "--models-dir", self.models) as server:
            self.assertEqual(server.write(MODELS[0])[0], 200)
            # One for the request, two for the first of three pairs that a process needs.
            most = len(os.listdir(f"/proc/{server.process.pid}/fd")) + 3
            many.subprocess.run(["prlimit", f"--pid={server.process.pid}", f"--nofile={most}:"], check=True)
            status, body = server.write(MODELS[1])
            self.assertEqual(status, 500, body)
            self.assertIn("descriptors of the server are in use", body["error"]["message"])
            many.subprocess.run(["prlimit", f"--pid={server.process.pid}", "--nofile=1024:"], check=True)
            self.assertEqual(server.write(MODELS[0])[0], 200)
            server.ask("/models/load", {"model": MODELS[1]})
            server.wait(lambda: server.state(MODELS[1]) == "loaded")


if __name__ == "__main__":
    unittest.main()
