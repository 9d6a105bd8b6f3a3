#!/usr/bin/env python3
"""Starts `puna serve` with many flags and variables: what is refused, what is said of flags without effect, what comes first, and what a
server with such flags answers. A server that was started is ended by its id.

usage: tests/cli/serve_test.py PUNA
"""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from tiny_gguf import F32, STRING, U32, Gguf

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
MODEL = str(GOLDENS / "llama-q4_0.gguf")
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
FOREIGN = ("PUNA_", "LLAMA_", "OLLAMA_")
SECONDS = 60  # for anything to happen


class Server:
    """A server on a port that is free; `ask` gives status and body."""

    def __init__(self, process, log):
        self.process, self.log = process, log
        end = time.monotonic() + SECONDS
        while not (found := re.search(r"is served on http://127\.0\.0\.1:(\d+)", self.said())):
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no server: {self.said()}")
            time.sleep(0.05)
        self.port = int(found.group(1))

    def said(self):
        return Path(self.log).read_text()

    def ask(self, path, body=None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        cls.env = {**clean, "PUNA_HOME": str(cls.path / "home"), "ASAN_OPTIONS": sanitizer}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_serve(self, *args, **variables):
        return subprocess.run([PUNA, "serve", *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.path,
                              env={**self.env, **variables}, timeout=SECONDS)

    @contextlib.contextmanager
    def server(self, *args, **variables):
        log = self.path / "log"
        with open(log, "w") as file:
            process = subprocess.Popen([PUNA, "serve", "--device", "cpu", "--port", "0", *map(str, args)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=file, text=True, cwd=self.path, env={**self.env, **variables})
        try:
            yield Server(process, log)
            process.send_signal(signal.SIGTERM)
            self.out = process.communicate(timeout=SECONDS)[0]
            self.assertEqual(process.returncode, 0, log.read_text())
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()

    def check_fails(self, code, said, *args, lines=1, **variables):
        """The command fails with `code` and a last line on stderr that holds every piece of `said`; the lines are given."""
        with self.subTest(args=args, variables=variables):
            done = self.run_serve(*args, **variables)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            found = done.stderr.splitlines()
            self.assertEqual(len(found), lines, done.stderr)
            self.assertTrue(found[-1].startswith("error: "), done.stderr)
            for piece in [said] if isinstance(said, str) else said:
                self.assertIn(piece, found[-1])
            return found[:-1]

    def test_what_is_missing_or_open(self):
        self.check_fails(2, "--model", "--alias", "x")
        self.check_fails(2, ["--models-dir", "nowhere"], "--models-dir", "nowhere", "--port", 0)
        self.check_fails(1, "nowhere", "--models-preset", "nowhere", "--port", 0)
        self.check_fails(2, ["PUNA_NO_METRICS", "maybe"], "--model", "no.gguf", PUNA_NO_METRICS="maybe")
        self.check_fails(2, ["PUNA_HOST", '"x"'], "--model", "no.gguf", PUNA_HOST="http://127.0.0.1:x")
        self.check_fails(2, ["--api-key", "--no-auth"], "--model", "no.gguf", PUNA_HOST="http://0.0.0.0:1")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "notes.sock"
            file.write_text("kept")
            self.check_fails(1, ["listen", "notes.sock"], "--model", MODEL, "--host", file)
            self.assertEqual(file.read_text(), "kept")
        for host in ["0.0.0.0", "127.0.0.1,0.0.0.0", "::"]:
            self.check_fails(2, ["--api-key", "--no-auth"], "--model", "no.gguf", "--host", host, "--port", 0)
        self.check_fails(2, ["--ssl-cert-file", "--ssl-key-file"], "--model", "no.gguf", "--ssl-key-file", "key.pem")
        self.check_fails(1, "no.gguf", "--model", "./no.gguf", "--host", "0.0.0.0", "--no-auth", "--port", 0)
        self.check_fails(1, "nowhere/log", "--model", "./no.gguf", "--log-file", "nowhere/log")
        self.check_fails(1, "nowhere/log", "--model", "./no.gguf", "--log-jsonl", "nowhere/log")
        self.check_fails(1, "smollm2", "--model", "smollm2", "--offline", "--port", 0)
        self.check_fails(2, ["--slot-save-path", "nowhere"], "--model", "no.gguf", "--slot-save-path", "nowhere")

    def test_a_port_that_is_taken_is_told_of_before_the_model_is_read(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            self.check_fails(1, port, "--model", "./no.gguf", "--port", port)

    def test_flags_that_are_refused(self):
        for flag in ["--lora", "--model-draft", "-md", "--spec-draft-n-max", "--mmproj-url", "-hf", "--hf-repo", "--model-url",
                     "--path", "--tools", "--gpu-layers-draft"]:
            self.check_fails(2, [flag, "not supported yet", "puna serve --help"], "--model", MODEL, flag, "x")
        for flag in ["--rpc", "-ot", "-ncffn", "--override-kv", "--control-vector-layer-range", "--rope-freq-base", "--yarn-ext-factor",
                     "--mcp-servers-json", "--docker-repo", "--fim-qwen-7b-default"]:
            self.check_fails(2, [flag, "not supported"], "--model", MODEL, flag, "1", "2")
        self.check_fails(2, ["not supported yet"], "--model", MODEL, "--agent")
        # Where layers go to a GPU their cache does.
        for flags in [["-nkvo"], ["-nkvo", "-ngl", "4"], ["--no-kv-offload", "--device", "gpu"]]:
            self.check_fails(2, ["--no-kv-offload", "where the layer is"], "--model", MODEL, *flags)
        self.check_fails(2, ["--draft-max", "removed"], "--model", MODEL, "--draft-max", "4")
        self.check_fails(2, ["--split-mode", '"row"', "layer"], "--model", MODEL, "-sm", "row")
        self.check_fails(2, ["--spec-type", '"draft-mtp"', "none"], "--model", MODEL, "--spec-type", "draft-mtp")
        self.check_fails(2, ['unknown option "--prot"', '"--port"'], "--model", MODEL, "--prot", "1")

    def test_values_that_are_wrong(self):
        for option, value in [("--parallel", "0"), ("-np", "x"), ("--device", "CUDA0"), ("--cache-type-k", "q5_1"), ("--numerics", "sloppy"),
                              ("--gpu-layers", "some"), ("--cpu-experts", "some"), ("--replicas", "0"), ("--replicas", "some"), ("-ncmoe", "-1"), ("--cpu-moe", "maybe"), ("-ts", "0,0"), ("--tensor-split", "x"), ("--device", "gpu:0,gpu:0"), ("--api-prefix", "llm"), ("--samplers", "top_k;nothing"), ("--sampler-seq", "kk"),
                              ("--logit-bias", "5"), ("--logit-bias", "x+1"), ("--logit-bias", "5+inf"), ("--reasoning", "maybe"),
                              ("--reasoning-effort", "huge"), ("--reasoning-format", "some"), ("--chat-template", "llama9"),
                              ("--chat-template", "{% nonsense %}"), ("--chat-template-kwargs", "[1]"),
                              ("--chat-template-kwargs", "{"), ("--pooling", "max"), ("--load-mode", "dio"), ("--verbosity", "-1"),
                              ("--metrics", "perhaps"), ("--fit", "maybe"), ("--fit-target", "512,512"), ("--fit-ctx", "0"), ("--ctx-checkpoints", "5000"),
                              ("--checkpoint-min-step", "-1"), ("--keep", "-2"), ("--host", ","), ("--reasoning-budget", "-2"), ("--log-colors", "red"), ("--keep-alive", "soon"), ("--models-max", "-1"), ("--sleep-idle-seconds", "x")]:
            self.check_fails(2, value, "--model", MODEL, f"{option}={value}")
        self.check_fails(2, ["chatml", "llama3", "zephyr"], "--model", MODEL, "--chat-template", "llama9")
        for option in ["--chat-template-file", "--api-key-file", "--grammar-file", "--json-schema-file"]:
            self.check_fails(1, "no-such-file", "--model", MODEL, option, "no-such-file")  # a file that is not there is no wrong usage
        self.check_fails(1, "no-such-file", "--models-preset", "no-such-file")
        self.check_fails(1, "/tmp", "--models-preset", "/tmp")
        self.check_fails(2, ["--grammar", "Line 1"], "--model", "no-such.gguf", "--grammar", "root ::= (")  # before the model is looked for
        self.check_fails(2, ["--json-schema", "foo"], "--model", "no-such.gguf", "--json-schema", '{"type": "foo"}')
        self.check_fails(2, "--flash-attn has no value", "--model", MODEL, "-fa")
        self.check_fails(2, ["--slots", "both ways"], "--model", MODEL, "--slots", "--no-slots")
        self.check_fails(2, ["q8_0", "f16"], "--model", MODEL, "-ctk", "q8_0", "-ctv", "f16")
        self.check_fails(1, ["99999"], "--model", MODEL, "--device", "cpu", "--port", 0, "--log-disable", "--logit-bias", "99999+1")

    def test_flags_without_effect_have_a_line_each(self):
        model = ["--model", "./no.gguf", "--port", 0]
        said = self.check_fails(1, "no.gguf", *model, "-fa", "on", "-b", "2048", "-ub", "512", "-cb", "--no-warmup", "--keep-alive", "-1",
                                lines=7)
        self.assertTrue(any("--flash-attn" in each and "no effect" in each for each in said), said)
        said = self.check_fails(1, "no.gguf", *model, "-nocb", "-fa", "off", "--no-jinja", lines=4)
        self.assertTrue(all(line.startswith("warning: ") for line in said), said)
        said = self.check_fails(1, "no.gguf", *model, LLAMA_ARG_FLASH_ATTN="on", OLLAMA_NOPRUNE="1", OLLAMA_MODELS="/x", LLAMA_ARG_NOTHING="1", lines=3)
        self.assertIn("LLAMA_ARG_FLASH_ATTN has no effect", said[0])
        self.assertEqual(said[1], "LLAMA_ARG_NOTHING, OLLAMA_MODELS, OLLAMA_NOPRUNE have no effect here.")

    def test_the_environment_comes_behind_flags_and_puna_before_others(self):
        port = ["--port", 0]
        said = self.check_fails(1, "llama.gguf", *port, LLAMA_ARG_MODEL="./llama.gguf", lines=2)
        self.assertEqual(said, ["--model is taken from LLAMA_ARG_MODEL."])
        self.check_fails(1, "puna.gguf", *port, LLAMA_ARG_MODEL="./llama.gguf", PUNA_MODEL="./puna.gguf")
        self.check_fails(1, "flag.gguf", *port, "--model", "./flag.gguf", LLAMA_ARG_MODEL="./llama.gguf", PUNA_MODEL="./puna.gguf")
        self.check_fails(1, "llama.gguf", *port, LLAMA_ARG_MODEL="./llama.gguf", PUNA_MODEL="", lines=2)
        # A flag beside a variable that is wrong.
        self.check_fails(2, ["LLAMA_ARG_CTX_SIZE", '"many"'], *port, "--model", "./no.gguf", LLAMA_ARG_CTX_SIZE="many")
        self.check_fails(1, "no.gguf", *port, "--model", "./no.gguf", "-c", "512", LLAMA_ARG_CTX_SIZE="many")
        self.check_fails(2, ["LLAMA_ARG_RPC", "not supported"], *port, "--model", "./no.gguf", LLAMA_ARG_RPC="host:1")
        self.check_fails(2, ["OLLAMA_HOST", '"x"'], "--model", "./no.gguf", OLLAMA_HOST="127.0.0.1:x")
        said = self.check_fails(1, "no.gguf", *port, "--model", "./no.gguf", LLAMA_ARG_NO_MMAP="anything", OLLAMA_NUM_PARALLEL="3", lines=3)
        self.assertEqual(said, ["--mmap is taken from LLAMA_ARG_NO_MMAP.", "--parallel is taken from OLLAMA_NUM_PARALLEL."])

    def test_what_requests_mean_where_they_say_nothing(self):
        file = Gguf(MODEL)
        file.set("general.sampling.temp", F32, 0.5)  # comes before --temp
        file.set("general.sampling.top_k", U32, 9)
        file.set("tokenizer.chat_template", STRING, "{{ messages[0].content }}")
        model = file.save(self.path / "own.gguf")
        (self.path / "template").write_text("{{ word }}: {{ messages[0].content }}")
        flags = ["--model", model, "--temp", "0.25", "--min-p", "0.25", "-n", "5", "--seed", "7", "--ignore-eos", "--chat-template-file", "template",
                 "--chat-template-kwargs", '{"word": "Say"}', "--no-slots", "--props", "--log-jsonl", "-np", "2", "-l", "70-inf", "--samplers",
                 "top_k;temperature", "--parallel", "3"]
        with self.server(*flags) as server:
            status, props = server.ask("/props")
            params = props["default_generation_settings"]["params"]
            self.assertEqual((params["temperature"], params["top_k"], params["n_predict"], params["min_p"]), (0.5, 9, 5, 0.25))
            self.assertEqual((params["samplers"], params["logit_bias"]), (["top_k", "temperature"], [{"token": 70, "bias": None}]))
            self.assertEqual(props["total_slots"], 3)
            self.assertEqual(server.ask("/props", {}), (200, {"success": True}))
            self.assertEqual(server.ask("/slots")[0], 501)
            chat = {"messages": [{"role": "user", "content": "Hi"}]}
            self.assertEqual(server.ask("/apply-template", chat)[1]["prompt"], "Say: Hi")
            for path, body, text in [("/completion", {"prompt": "Hi", "n_predict": 50}, lambda reply: reply["content"]),
                                     ("/v1/chat/completions", {**chat, "max_tokens": 50}, lambda reply: reply["choices"][0]["message"]["content"]),
                                     ("/v1/messages", {**chat, "max_tokens": 50}, lambda reply: reply["content"][0]["text"]),
                                     ("/api/chat", {**chat, "model": "own", "stream": False}, lambda reply: reply["message"]["content"])]:
                replies = [server.ask(path, body) for _ in range(2)]
                self.assertEqual([status for status, _ in replies], [200, 200], replies)
                # The same seed.
                self.assertEqual(text(replies[0][1]), text(replies[1][1]))
            for own, tokens in [({}, 5), ({"n_predict": 50}, 50), ({"n_predict": 2}, 2)]:
                self.assertEqual(server.ask("/completion", {"prompt": "Hi", **own})[1]["tokens_predicted"], tokens)
            chats = "/v1/chat/completions"
            self.assertNotIn("__verbose", server.ask(chats, chat)[1])
            self.assertEqual(server.ask(chats, {**chat, "verbose": True})[1]["__verbose"]["prompt"].split("Say: ")[-1], "Hi")
            said = server.said()
        self.assertIn("POST /completion 200", said)
        self.assertIn("/completion", {json.loads(line)["path"] for line in self.out.splitlines()})

    def test_how_much_room_a_text_has(self):
        model = Gguf(MODEL)
        model.set("llama.context_length", U32, 4096)
        path = model.save(self.path / "room.gguf")
        for flags, context in [(["-c", "65536", "-np", "4"], 4096), (["-c", "65536", "-np", "4", "-no-kvu"], 4096), (["-c", "1024", "-np", "4"], 1024), (["-c", "1024", "-np", "4", "-no-kvu"], 256), (["--ctx", "128"], 128),
                               (["-np", "2", "--kv-unified-per-slot", "512"], 512)]:
            with self.subTest(flags=flags), self.server("--model", path, *flags) as server:
                self.assertEqual(server.ask("/props")[1]["default_generation_settings"]["n_ctx"], context)

    def test_memory_that_is_asked_for_and_none_of_a_gpu(self):
        flags = ["-nkvo", "--fit", "off", "--fit-target", "256", "--fit-ctx", "512", "-ctxcp", "8", "-cms", "64", "--keep", "4", "--check-tensors"]
        with self.server("--model", MODEL, *flags) as server:
            self.assertEqual(server.ask("/completion", {"prompt": "Hi", "n_predict": 3})[0], 200)
            for flag in ["--fit-target", "--fit-ctx", "--ctx-checkpoints", "--checkpoint-min-step", "--keep"]:
                self.assertIn(f"{flag} has no effect", server.said())

    def test_weights_that_are_no_numbers_are_looked_for(self):
        file = Gguf(MODEL)
        data = bytearray(file.tensor_data)
        offset = next(offset for name, _, _, offset in file.tensors if name == "blk.1.ffn_down.weight")
        data[offset + 2:offset + 18] = b"\xff" * 16  # the codes of its first block, of q4_0
        file.tensor_data = bytes(data)
        with self.server("--model", file.save(self.path / "whole.gguf"), "--check-tensors"):
            pass
        data[offset:offset + 2] = b"\x00\x7e"  # the scale: NaN
        file.tensor_data = bytes(data)
        damaged = file.save(self.path / "damaged.gguf")
        self.check_fails(1, ['"blk.1.ffn_down.weight"', "nan at row 0, column 0"], "--model", damaged, "--device", "cpu", "--port", 0,
                         "--check-tensors", "--log-disable")
        with self.server("--model", damaged):
            pass

    def test_a_full_context_ends_a_text_or_is_shifted(self):
        body = {"prompt": "To be or not to be", "n_predict": 150, "temperature": 0, "ignore_eos": True}
        with self.server("--model", MODEL, "--ctx", "64") as server:
            cut = server.ask("/completion", body)[1]
            self.assertEqual((cut["truncated"], cut["stop_type"]), (True, "limit"))
            self.assertLess(cut["tokens_predicted"], 64)
            asked = {"model": "llama-q4_0", "prompt": "Hi", "stream": False, "raw": True, "options": {"num_predict": 150, "temperature": 0}}
            self.assertLess(server.ask("/api/generate", asked)[1]["eval_count"], 64)
            self.assertEqual(server.ask("/api/generate", {**asked, "shift": True})[1]["eval_count"], 150)
        with self.server("--model", MODEL, "--ctx", "64", "--context-shift", "--keep", "-1") as server:
            reply = server.ask("/completion", body)[1]
            self.assertEqual((reply["truncated"], reply["tokens_predicted"]), (True, 150))
            self.assertTrue(reply["content"].startswith(cut["content"]))
            endless = server.ask("/completion", {**body, "n_predict": -1})[1]
            self.assertEqual(endless["tokens_predicted"], cut["tokens_predicted"] + 64)

    def test_a_quiet_server_that_wants_a_key(self):
        (self.path / "keys").write_text("# a comment\none\ntwo\n")
        log = self.path / "server.log"
        with self.server("--model", MODEL, "--api-key-file", "keys", "--log-file", log, "--log-prefix", "--log-timestamps",
                         "--no-metrics", "--alias", "b,a") as server:
            self.assertEqual(server.ask("/v1/models")[0], 401)
            key = {"Authorization": "Bearer two"}
            status, models = server.ask("/v1/models", headers=key)
            self.assertEqual((status, models["data"][0]["id"]), (200, "a"))
            self.assertEqual(models["data"][0]["aliases"], ["a", "b"])
            self.assertEqual(server.ask("/metrics", headers=key)[0], 501)
            self.assertEqual(server.ask("/props", {}, headers=key)[0], 501)
        self.assertRegex(log.read_text(), r"(?m)^\d{4}-\d\d-\d\dT[\d:.]+Z I GET /v1/models 401 ")

    def test_keys_are_read_again_after_a_hangup(self):
        keys = self.path / "changing"
        keys.write_text("one\n")
        with self.server("--model", MODEL, "--api-key-file", keys, "--api-key", "always") as server:
            def status(key):
                return server.ask("/v1/models", headers={"X-Api-Key": key})[0]

            def hang_up(said):
                server.process.send_signal(signal.SIGHUP)
                end = time.monotonic() + SECONDS
                while said not in server.said():
                    self.assertLess(time.monotonic(), end, server.said())
                    time.sleep(0.02)

            self.assertEqual([status(key) for key in ["one", "two", "always"]], [200, 401, 200])
            keys.write_text("two\nthree\n")
            hang_up("2 keys were read again")
            self.assertEqual([status(key) for key in ["one", "two", "three", "always"]], [401, 200, 200, 200])
            keys.write_text("# none\n")
            hang_up("stay as they were")
            self.assertEqual([status(key) for key in ["one", "two", "three", "always"]], [401, 200, 200, 200])

    def test_templates_by_name_and_how_answers_are_written(self):
        file = Gguf(MODEL)
        file.set("tokenizer.chat_template", STRING, "{{ messages[0].content }}")
        model = file.save(self.path / "named.gguf")
        chat = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 6, "temperature": 0}
        with self.server("--model", model, "--chat-template", "phi3", "-r", "no such text", "--no-cache-prompt", "--log-colors", "on",
                         "--log-prefix") as server:
            self.assertEqual(server.ask("/apply-template", chat)[1]["prompt"], "<|user|>\nHi<|end|>\n<|assistant|>\n")
            params = server.ask("/props")[1]["default_generation_settings"]["params"]
            self.assertEqual(params["stop"], ["no such text"])
            text = server.ask("/v1/chat/completions", chat)[1]["choices"][0]["message"]["content"]
            again = server.ask("/v1/chat/completions", chat)[1]
            self.assertEqual(again["choices"][0]["message"]["content"], text)
            self.assertEqual(again["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
            self.assertGreater(server.ask("/v1/chat/completions", {**chat, "cache_prompt": True})[1]["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
            # What stands for bytes that are no UTF-8 is not in what the model wrote.
            stop = next(letter for letter in text[1:] if letter != "\ufffd")
            reply = server.ask("/v1/chat/completions", {**chat, "stop": stop})[1]
            self.assertEqual(reply["choices"][0]["message"]["content"], text[:text.index(stop)])
        with self.server("--model", model, "--reverse-prompt", stop) as server:
            # The template is the file's own here, so that only the end of the answer is looked at.
            for path, body in [("/completion", {"prompt": "Hi", "n_predict": 6, "temperature": 0}), ("/v1/chat/completions", chat)]:
                reply = server.ask(path, body)[1]
                said = reply["content"] if "content" in reply else reply["choices"][0]["message"]["content"]
                self.assertNotIn(stop, said)
        switched = "{{ messages[0].content }}{% if preserve_thinking %}P{% endif %}{% if clear_thinking %}C{% endif %}{{ word }}"
        (self.path / "switched").write_text(switched)
        for flags, prompt in [(["--reasoning-preserve"], "HiPw"), (["--no-reasoning-preserve"], "HiCw")]:
            with self.server("--model", model, "--chat-template-file", "switched", "--chat-template-kwargs", '{"word": "w"}', *flags) as server:
                self.assertEqual(server.ask("/apply-template", chat)[1]["prompt"], prompt)

    def test_embeddings(self):
        with self.server("--model", MODEL, "--embeddings", "--pooling", "mean", "--embd-normalize", "-1") as server:
            status, reply = server.ask("/v1/embeddings", {"input": "Hi"})
            self.assertEqual(status, 200, reply)
            size = sum(x * x for x in reply["data"][0]["embedding"])
            self.assertNotAlmostEqual(size, 1, places=3)
            size = sum(x * x for x in server.ask("/v1/embeddings", {"input": "Hi", "embd_normalize": 2})[1]["data"][0]["embedding"])
            self.assertAlmostEqual(size, 1, places=3)
            self.assertEqual(server.ask("/completion", {"prompt": "Hi"})[0], 400)

    def test_a_slot_that_is_saved_goes_on_after_a_restart(self):
        folder = self.path / "slots"
        folder.mkdir()
        flags = ["--model", MODEL, "--slot-save-path", folder]
        body = {"prompt": "To be or not to be", "n_predict": 8, "temperature": 0, "id_slot": 3, "return_tokens": True}
        with self.server(*flags) as server:
            status, first = server.ask("/completion", body)
            self.assertEqual((status, first["id_slot"]), (200, 3), first)
            status, saved = server.ask("/slots/3?action=save", {"filename": "talk.bin"})
            self.assertEqual(status, 200, saved)
            self.assertEqual(saved["n_saved"], first["tokens_evaluated"] + 7)
            self.assertEqual(saved["n_written"], (folder / "talk.bin").stat().st_size)
            self.assertEqual([path.name for path in folder.iterdir()], ["talk.bin"])
        with self.server(*flags) as server:
            status, restored = server.ask("/slots/0?action=restore", {"filename": "talk.bin"})
            self.assertEqual((status, restored.get("n_restored")), (200, saved["n_saved"]), restored)
            again = server.ask("/completion", {**body, "id_slot": -1})[1]
            self.assertEqual((again["tokens"], again["id_slot"]), (first["tokens"], 0))
            self.assertEqual(again["timings"]["cache_n"], first["tokens_evaluated"] - 1)
            self.assertEqual(server.ask("/slots/0?action=erase", {})[0], 200)
            self.assertEqual(server.ask("/completion", body)[1]["timings"]["cache_n"], 0)
            (folder / "cut").write_bytes((folder / "talk.bin").read_bytes()[:-1])
            for name in ["cut", "none", "../slots/talk.bin"]:
                status, reply = server.ask("/slots/0?action=restore", {"filename": name})
                self.assertEqual(status, 400, reply)
                self.assertNotIn(str(folder), reply["error"]["message"])
        other = str(GOLDENS / "llama-f16.gguf")  # the same shapes
        with self.server("--model", other, "--slot-save-path", folder) as server:
            status, reply = server.ask("/slots/0?action=restore", {"filename": "talk.bin"})
            self.assertEqual(status, 400, reply)

    def test_a_slot_whose_text_was_shifted_is_saved_as_what_is_left_of_it(self):
        folder = self.path / "shifted"
        folder.mkdir()
        context = 64
        flags = ["--model", MODEL, "--ctx", context, "--context-shift", "--keep", "4", "--slot-save-path", folder]
        body = {"prompt": "To be or not to be", "n_predict": 100, "temperature": 0, "ignore_eos": True, "id_slot": 1, "return_tokens": True}
        with self.server(*flags) as server:
            shifted = server.ask("/completion", body)[1]
            self.assertEqual((shifted["truncated"], shifted["tokens_predicted"]), (True, 100))
            prompt = server.ask("/tokenize", {"content": body["prompt"], "add_special": True})[1]["tokens"]
            status, saved = server.ask("/slots/1?action=save", {"filename": "shifted.bin"})
            self.assertEqual(status, 200, saved)
            self.assertLess(saved["n_saved"], context)
        # What is saved: the tokens kept, and the newest behind them but for the last, which was not evaluated.
        whole = prompt + shifted["tokens"][:-1]
        left = whole[:4] + whole[4 - saved["n_saved"]:]
        fresh = {"prompt": left + shifted["tokens"][-1:], "n_predict": 1, "temperature": 0, "ignore_eos": True, "return_tokens": True}
        with self.server(*flags) as server:
            alone = server.ask("/completion", fresh)[1]
            self.assertEqual(alone["timings"]["cache_n"], 0)
            status, restored = server.ask("/slots/0?action=restore", {"filename": "shifted.bin"})
            self.assertEqual((status, restored.get("n_restored")), (200, saved["n_saved"]), restored)
            again = server.ask("/completion", {**fresh, "id_slot": 0})[1]
            self.assertEqual((again["tokens"], again["timings"]["cache_n"]), (alone["tokens"], saved["n_saved"]))

    def test_errors_tell_no_path(self):
        with self.server("--model", MODEL) as server:
            status, reply = server.ask("/v1/embeddings", {"input": "Hi"})
            self.assertEqual(status, 501)
            self.assertIn("llama-q4_0", reply["error"]["message"])
            self.assertNotIn("/", reply["error"]["message"])
            self.assertEqual(server.ask("/v1/models")[1]["data"][0]["id"], "llama-q4_0")

    def test_what_is_printed_in_place_of_a_server(self):
        done = self.run_serve("--version")
        self.assertRegex(done.stdout, r"^puna \d+\.\d+\.\d+\n$")
        done = self.run_serve("--list-devices")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cpu", done.stdout)


if __name__ == "__main__":
    unittest.main()
