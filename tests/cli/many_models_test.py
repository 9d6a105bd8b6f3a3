#!/usr/bin/env python3
"""`puna serve` without a model: tiny models of a folder and of presets under a limit that holds one, asked for by turns from several
clients; what is listed, loaded, kept and unloaded; names and presets that are wrong. A server that was started is ended by its id.

usage: tests/cli/many_models_test.py PUNA
"""
import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tiny_media import write_mmproj, write_png

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
FOREIGN = ("PUNA_", "LLAMA_", "OLLAMA_", "HF_")
SECONDS = 60  # for anything to happen
PROMPT = {"prompt": [1, 2, 3, 4, 5], "n_predict": 4, "temperature": 0, "ignore_eos": True, "return_tokens": True}


class Server:
    def __init__(self, process, log):
        self.process, self.log = process, log
        self.wait(lambda: "are served on" in self.said() or "is served on" in self.said())
        self.port = int(re.search(r"served on http://127\.0\.0\.1:(\d+)", self.said()).group(1))

    def said(self):
        return Path(self.log).read_text()

    def wait(self, is_so):
        end = time.monotonic() + SECONDS
        while not is_so():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"not so: {self.said()}")
            time.sleep(0.02)

    def open(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method), timeout=SECONDS)

    def ask(self, path, body=None, method=None):
        try:
            with self.open(path, body, method) as reply:
                text = reply.read()
                return reply.status, json.loads(text) if text.startswith(b"{") or text.startswith(b"[") else text.decode()
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def write(self, model, **more):
        return self.ask("/completion", {**PROMPT, "model": model, **more})

    def models(self):
        return {each["id"]: each for each in self.ask("/v1/models")[1]["data"]}

    def state(self, model):
        return self.models()[model]["status"]["value"]


class Many(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        cls.models = cls.path / "models"
        cls.models.mkdir()
        for file in ["llama-q4_0.gguf", "gemma3-q8_0.gguf"]:
            shutil.copy(GOLDENS / file, cls.models)
        (cls.models / "broken.gguf").write_bytes(b"GGUF, but no more of it")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        cls.env = {**clean, "HOME": str(cls.path), "PUNA_HOME": str(cls.path / "home")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @contextlib.contextmanager
    def server(self, *args, **variables):
        log = self.path / "log"
        with open(log, "w") as file:
            process = subprocess.Popen([PUNA, "serve", "--device", "cpu", "--threads", "1", "--port", "0", "--parallel", "4", *map(str, args)],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, cwd=self.path, env={**self.env, **variables})
        try:
            yield Server(process, log)
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)
            self.assertEqual(process.returncode, 0, log.read_text())
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()

    def test_a_model_of_the_folder_is_known_to_every_dialect_before_it_is_loaded(self):
        with self.server("--models-dir", self.models) as server:
            listed = [each["name"] for each in server.ask("/api/tags")[1]["models"]]
            self.assertEqual(sorted(listed), ["gemma3-q8_0:latest", "llama-q4_0:latest"])  # broken.gguf is left out
            self.assertEqual(server.ask("/api/show", {"model": "LLAMA-q4_0"})[1]["details"]["family"], "llama")
            self.assertEqual(server.ask("/api/show", {"model": "broken"})[0], 400)
            self.assertEqual(server.state("llama-q4_0"), "unloaded")
            self.assertIn("only reads", server.ask("/api/delete", {"model": "llama-q4_0"}, "DELETE")[1]["error"])
            run = subprocess.run([PUNA, "run", "llama-q4_0", "Hi", "--raw", "-n", "1", "--host", f"127.0.0.1:{server.port}"], env=self.env,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(server.state("llama-q4_0"), "loaded")

    def test_what_models_take_is_known_before_they_are_loaded(self):
        folder = self.path / "seeing"
        folder.mkdir()
        shutil.copy(GOLDENS / "llama-q4_0.gguf", folder / "tiny.gguf")
        mmproj = Path(write_mmproj(folder / "mmproj-tiny.gguf", 64))
        picture = base64.b64encode(Path(write_png(self.path / "small.png")).read_bytes()).decode()
        presets = self.path / "seeing.ini"
        presets.write_text(f"version = 1\n[without]\nmodel = {folder / 'tiny.gguf'}\nno-mmproj = true\n"
                           f"[named]\nmodel = {self.models / 'llama-q4_0.gguf'}\nmmproj = {mmproj}\n"
                           f"[other]\nmodel = {self.models / 'gemma3-q8_0.gguf'}\nmmproj = {folder / 'none.gguf'}\n")
        template = "{% for m in messages %}{{ m.content }}{% endfor %}"
        with self.server("--models-dir", folder, "--models-preset", presets, "--chat-template", template) as server:
            takes = lambda: {name: each["architecture"]["input_modalities"] for name, each in server.models().items()}
            self.assertEqual(takes(), {"tiny": ["text", "image"], "without": ["text"], "named": ["text", "image"], "other": ["text"]})
            self.assertEqual(server.state("tiny"), "unloaded")
            parts = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}, {"type": "text", "text": "ab"}]
            body = {"model": "tiny", "max_tokens": 1, "messages": [{"role": "user", "content": parts}]}
            for _ in range(2):
                status, told = server.ask("/v1/chat/completions", body)
                self.assertEqual(status, 200, told)
            self.assertEqual(takes()["tiny"], ["text", "image"])
            # What the model's process counts, the server tells.
            figures = lambda: [line.split()[-1] for line in server.ask("/metrics")[1].splitlines() if line.startswith("puna:media_") and '"tiny"' in line]
            server.wait(lambda: figures() == ["1", "1"])
            mmproj.unlink()
            server.ask("/models/unload", {"model": "tiny"})
            server.wait(lambda: takes()["tiny"] == ["text"])

    def test_models_by_turns_under_a_limit_that_holds_one(self):
        with self.server("--models-dir", self.models, "--models-max", "1") as server:
            self.assertEqual(server.state("llama-q4_0"), "unloaded")
            alone = {model: server.write(model)[1]["tokens"] for model in ["llama-q4_0", "gemma3-q8_0"]}
            wrong = []

            def client(number):
                for turn in range(4):
                    model = list(alone)[(number + turn) % 2]
                    status, body = server.write(model)
                    if status != 200 or body["tokens"] != alone[model] or body["model"] != model:
                        wrong.append((model, status, body))

            threads = [threading.Thread(target=client, args=(number,)) for number in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            self.assertEqual(wrong, [])
            self.assertEqual(sorted(each["status"]["value"] for each in server.models().values()), ["loaded", "unloaded", "unloaded"])
            metrics = server.ask("/metrics")[1]
            self.assertIn('puna:model_loaded{model="llama-q4_0"}', metrics)
            self.assertGreater(int(re.search(r'puna:model_evictions_total\{model="llama-q4_0"\} (\d+)', metrics).group(1)), 0)

    def test_what_is_said_of_models_and_of_names_that_are_wrong(self):
        with self.server("--models-dir", self.models) as server:
            self.assertEqual(sorted(server.models()), ["broken", "gemma3-q8_0", "llama-q4_0"])
            status, body = server.write("lama-q4_0")
            self.assertEqual(status, 404)
            self.assertIn('did you mean "llama-q4_0"?', body["error"]["message"])
            for name in ["../models/llama-q4_0.gguf", str(self.models / "llama-q4_0.gguf"), "a\0b", "x" * 300, "sha256:../../x"]:
                self.assertEqual(server.write(name)[0], 404, name)
            for path, more in [("/api/chat", {"messages": [{"role": "user", "content": "Hi"}]}), ("/api/generate", {"prompt": "Hi"}), ("/api/embed", {"input": "Hi"})]:
                self.assertEqual(server.ask(path, {"model": "lama-q4_0", **more}), (404, {"error": 'model "lama-q4_0" not found, try pulling it first'}), path)
            self.assertEqual(server.ask("/completion", PROMPT)[0], 400)
            self.assertEqual(server.ask("/slots")[0], 400)
            self.assertEqual(server.ask("/props")[1]["role"], "router")
            self.assertEqual(server.ask("/props?model=llama-q4_0")[1]["model_alias"], "llama-q4_0")
            self.assertEqual(len(server.ask("/slots?model=LLAMA-q4_0:latest")[1]), 4)
            # A file that is no model: who asks is told, and others are not kept from theirs.
            status, body = server.write("broken")
            self.assertEqual(status, 500, body)
            self.assertNotIn(str(self.path), json.dumps(body))
            self.assertTrue(server.models()["broken"]["status"]["failed"])
            self.assertNotIn(str(self.path), json.dumps(server.models()))
            self.assertIn("tried again", server.write("broken")[1]["error"]["message"])
            self.assertEqual(server.write("llama-q4_0")[0], 200)
            # One that comes later is found.
            shutil.copy(GOLDENS / "llama-q4_0.gguf", self.models / "later.gguf")
            self.assertEqual(server.write("later")[0], 200)
            (self.models / "later.gguf").unlink()
            self.assertNotIn("later", server.models())

    def test_models_are_loaded_and_unloaded_by_name(self):
        with self.server("--models-dir", self.models, "--no-models-autoload") as server:
            with server.open("/models/sse") as events:
                status, body = server.write("llama-q4_0")
                self.assertEqual((status, body["error"]["message"]), (400, 'The model "llama-q4_0" is not loaded.'))
                self.assertEqual(server.ask("/models/load", {"model": "llama-q4_0"}), (200, {"success": True}))
                server.wait(lambda: server.state("llama-q4_0") == "loaded")
                self.assertEqual(server.ask("/models/load", {"model": "llama-q4_0"})[0], 400)
                self.assertEqual(server.write("llama-q4_0")[0], 200)
                self.assertEqual(server.ask("/completion?autoload=true", {**PROMPT, "model": "gemma3-q8_0"})[0], 200)
                self.assertEqual(server.ask("/completion?autoload=x", {**PROMPT, "model": "gemma3-q8_0"})[0], 400)
                self.assertEqual(server.ask("/models/unload", {"model": "gemma3-q8_0"}), (200, {"success": True}))
                server.wait(lambda: server.state("gemma3-q8_0") == "unloaded")
                self.assertEqual(server.ask("/models/unload", {"model": "gemma3-q8_0"})[0], 400)
                self.assertEqual(server.ask("/models/unload", {"model": "nothing"})[0], 404)
                seen = []
                while ("gemma3-q8_0", "unloaded") not in seen[3:]:
                    line = events.readline().decode()
                    if line.startswith("data: "):
                        event = json.loads(line[6:])
                        if event["event"] == "model_status":
                            seen.append((event["model"], event["data"]["status"]))
            self.assertEqual(seen[:3], [(model, "unloaded") for model in ["broken", "gemma3-q8_0", "llama-q4_0"]])
            self.assertEqual(seen[3:5], [("llama-q4_0", "loading"), ("llama-q4_0", "loaded")])

    def test_models_stay_as_long_as_requests_wish(self):
        with self.server("--models-dir", self.models, "--keep-alive", "1h") as server:
            def chat(**more):
                return server.ask("/api/generate", {"model": "llama-q4_0", "stream": False, "options": {"num_predict": 2}, **more})
            self.assertEqual(chat()[1]["done_reason"], "load")
            running = server.ask("/api/ps")[1]["models"]
            self.assertEqual([each["name"] for each in running], ["llama-q4_0:latest"])
            self.assertEqual(running[0]["size_vram"], 0)
            left = running[0]["expires_at"]
            self.assertEqual(chat(prompt="a", raw=True, keep_alive="2h")[0], 200)
            self.assertGreater(server.ask("/api/ps")[1]["models"][0]["expires_at"], left)
            self.assertEqual(chat(keep_alive=0)[1]["done_reason"], "unload")
            server.wait(lambda: server.ask("/api/ps")[1]["models"] == [])
            # It is not loaded in order to go.
            self.assertEqual(chat(keep_alive=0)[1]["done_reason"], "unload")
            self.assertEqual(server.said().count("llama-q4_0 is loaded"), 1)
            self.assertEqual(chat(prompt="a", raw=True, keep_alive="0.1s")[0], 200)
            server.wait(lambda: server.state("llama-q4_0") == "unloaded")
            self.assertEqual(chat(prompt="a", raw=True, keep_alive="x")[0], 400)

    def test_sleep(self):
        with self.server("--models-dir", self.models, "--sleep-idle-seconds", "0.2") as server:
            prompt = {**PROMPT, "model": "llama-q4_0", "prompt": list(range(3, 103))}
            first = server.ask("/completion", prompt)[1]
            server.wait(lambda: server.state("llama-q4_0") == "sleeping")
            # What it is can be asked without waking it.
            self.assertTrue(server.ask("/props?model=llama-q4_0")[1]["is_sleeping"])
            self.assertEqual(server.models()["llama-q4_0"]["meta"]["n_ctx"], server.ask("/props?model=llama-q4_0")[1]["default_generation_settings"]["n_ctx"])
            self.assertEqual(server.ask("/props")[1]["role"], "router")
            self.assertEqual(server.state("llama-q4_0"), "sleeping")
            again = server.ask("/completion", prompt)[1]
            self.assertFalse(server.ask("/props?model=llama-q4_0")[1]["is_sleeping"])
            self.assertEqual(again["tokens"], first["tokens"])
            self.assertEqual(server.said().count("llama-q4_0 is loaded"), 2)
            # All but a page of the prompt at most is known still.
            self.assertGreater(again["timings"]["cache_n"], 60)

    def test_the_one_model_sleeps(self):
        model = self.models / "llama-q4_0.gguf"
        with self.server("--model", model, "--sleep-idle-seconds", "0.2") as server:
            self.assertNotIn("no effect", server.said())

            def asleep():
                return server.ask("/props")[1]["is_sleeping"]

            def metrics():
                lines = server.ask("/metrics")[1].splitlines()
                return [line for line in lines if line.startswith("llamacpp:") and "_tokens_seconds " not in line]

            prompt = {**PROMPT, "prompt": list(range(3, 103))}
            first, awake = server.ask("/completion", prompt)[1], server.ask("/props")[1]
            listed, counted = server.ask("/v1/models")[1], metrics()
            server.wait(asleep)
            self.assertEqual(server.ask("/props")[1], {**awake, "is_sleeping": True})
            self.assertEqual(server.ask("/v1/models")[1], listed)
            self.assertEqual(metrics(), counted)
            self.assertEqual(server.ask("/health")[1], {"status": "ok"})
            self.assertEqual([each["name"] for each in server.ask("/api/tags")[1]["models"]], ["gemma3-q8_0:latest", "llama-q4_0:latest"][1:])
            self.assertEqual(server.ask("/api/show", {"model": "llama-q4_0"})[1]["details"]["family"], "llama")
            self.assertEqual(server.ask("/completion", {**prompt, "model": "other"})[0], 404)
            self.assertTrue(asleep())
            self.assertEqual(server.said().count("is loaded"), 1)
            again = server.ask("/completion", prompt)[1]
            self.assertEqual(again["tokens"], first["tokens"])
            self.assertGreater(again["timings"]["cache_n"], 60)
            self.assertEqual(server.said().count("is loaded"), 2)
            # Counting tokens needs the model too.
            server.wait(asleep)
            self.assertEqual(server.ask("/tokenize", {"content": "Hi"})[0], 200)
            self.assertEqual(server.ask("/models/load", {"model": "llama-q4_0"})[0], 400)
        with self.assertRaisesRegex(AssertionError, "no GGUF|cannot|GGUF"), self.server("--model", self.models / "broken.gguf", "--sleep-idle-seconds", "1"):
            pass

    def test_presets(self):
        presets = self.path / "presets.ini"
        presets.write_text(f"""version = 1
; for all
[*]
n-predict = 3
[coder]
model = {self.models / "llama-q4_0.gguf"}
LLAMA_ARG_CTX_SIZE = 64
load-on-startup = true
alias = small,tiny
[gemma3-q8_0]
temp = 0.25
no-mmap = true
[later]
model = {self.models / "gemma3-q8_0.gguf"}
""")
        with self.server("--models-dir", self.models, "--models-preset", presets) as server:
            server.wait(lambda: server.state("coder") == "loaded")
            self.assertEqual(server.models()["coder"]["aliases"], ["coder", "small", "tiny"])
            self.assertEqual(server.state("later"), "unloaded")
            listed = {each["name"]: each["details"]["family"] for each in server.ask("/api/tags")[1]["models"]}
            self.assertEqual((listed["tiny:latest"], listed["later:latest"]), ("llama", "gemma3"))
            self.assertIn("LLAMA_ARG_CTX_SIZE = 64", server.models()["coder"]["status"]["preset"])
            self.assertEqual(server.ask("/props?model=tiny")[1]["default_generation_settings"]["n_ctx"], 64)
            params = server.ask("/props?model=gemma3-q8_0")[1]["default_generation_settings"]["params"]
            self.assertEqual((params["temperature"], params["n_predict"]), (0.25, 3))
        for text, said in [("[a]\nn-predikt = 3\n", ["line 2", "n-predikt"]), ("[a]\nport = 3\n", ["line 2", "port", "server"]),
                           ("x = 3\n", ["line 1", "version"]), ("[a]\n[a]\n", ["line 2", "twice"]), ("[a]\n\nctx-size = many\n", ["line 3", "many"]),
                           ("[*]\nmodel = x\n", ["line 2", "all models"]), ("[a]\nrpc = x\n", ["line 2", "not supported"]), ("[a\n", ["line 1"])]:
            presets.write_text(text)
            done = subprocess.run([PUNA, "serve", "--port", "0", "--models-preset", str(presets)], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, env=self.env, timeout=SECONDS)
            self.assertEqual(done.returncode, 2, done.stderr)
            for piece in said:
                self.assertIn(piece, done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
