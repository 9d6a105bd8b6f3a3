#!/usr/bin/env python3
"""`puna run`, `ps`, `stop` and `launch` against a running server: Puna's own with a tiny model, and a stand-in that says what servers may say.

usage: tests/cli/server_chat_test.py PUNA
"""
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from pseudo_terminal import PATIENCE_S, Terminal
from tiny_gguf import STRING, U32, Gguf
from tiny_media import write_hearing_mmproj, write_png, write_wav

MODEL = Path(__file__).resolve().parent.parent / "goldens/llama-q4_0.gguf"
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}[answer]"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PUNA_", "LLAMA_", "OLLAMA_", "NO_COLOR"))}
EXACT = ["--temp", "0", "-n", "8"]


def run(*args, stdin=subprocess.DEVNULL, env=None, **variables):
    given = {"input": stdin} if isinstance(stdin, str) else {"stdin": stdin}
    return subprocess.run([PUNA, *map(str, args)], capture_output=True, text=True, errors="replace", timeout=PATIENCE_S,
                          env={**(env or {}), **variables}, **given)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class OwnServer(unittest.TestCase):
    """One server for all: a model called tiny, at a port and at a Unix socket, with a key."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.home = Path(cls.folder.name)
        model = Gguf(MODEL)
        model.set("tokenizer.chat_template", STRING, TEMPLATE)
        model.set("llama.context_length", U32, 4096)
        cls.model = model.save(cls.home / "tiny.gguf")
        cls.env = {**CLEAN, "PUNA_HOME": str(cls.home), "TERM": "xterm", "PUNA_API_KEY": "secret"}
        port = free_port()
        cls.host = f"127.0.0.1:{port}"
        cls.socket = str(cls.home / "puna.sock")
        with open(cls.home / "log", "w") as log:
            cls.server = subprocess.Popen([PUNA, "serve", "--model", cls.model, "--alias", "tiny", "--device", "cpu", "--threads", "1", "--ctx-size", "256", "--parallel", "2",
                                           "--host", f"127.0.0.1,{cls.socket}", "--port", str(port)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=cls.env)
        end = time.monotonic() + PATIENCE_S
        while run("ps", "--host", cls.host, env=cls.env).returncode != 0:
            if cls.server.poll() is not None or time.monotonic() > end:
                raise AssertionError((cls.home / "log").read_text())
            time.sleep(0.1)

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.wait(timeout=PATIENCE_S)
        cls.folder.cleanup()

    def puna(self, *args, code=0, **rest):
        done = run(*args, env=self.env, **rest)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def own(self, *args, **rest):
        return self.puna("run", self.model, *args, *EXACT, "--device", "cpu", "--threads", "1", **rest)

    def test_the_same_answer_as_in_this_process(self):
        alone = self.own("hello").stdout
        for where in (["--host", self.host], ["--host", f"http://{self.host}/"], ["--host", self.socket]):
            done = self.puna("run", "tiny", "hello", *EXACT, *where, "--verbose")
            self.assertEqual(done.stdout, alone)
            self.assertRegex(done.stderr, r"Asked is the server at (?s:.*)total duration(?s:.*)eval rate")
        for variables in ({"PUNA_HOST": self.host}, {"OLLAMA_HOST": f"http://{self.host}"},
                          {"PUNA_HOST": "127.0.0.1", "PUNA_PORT": self.host.split(":")[1]}, {"PUNA_HOST": self.host, "OLLAMA_HOST": "nowhere.invalid"}):
            done = self.puna("run", "tiny", "hello", *EXACT, **variables)
            self.assertEqual((done.stdout, done.stderr), (alone, ""))

    def test_flags_reach_the_server(self):
        system = ["--system", "Be brief."]
        self.assertEqual(self.puna("run", "tiny", "hello", *EXACT, *system, "--host", self.host).stdout, self.own("hello", *system).stdout)
        self.assertEqual(self.puna("run", "tiny", "hello", *EXACT, "--raw", "--host", self.host).stdout, self.own("hello", "--raw").stdout)
        self.assertTrue(self.puna("run", "tiny", "hello", "-n", "30", "--format", "json", "--host", self.host).stdout.lstrip().startswith("{"))
        schema = self.home / "schema.json"
        schema.write_text('{"enum": ["one"]}')
        self.assertEqual(self.puna("run", "tiny", "hello", "--format", schema, "--host", self.host).stdout, '"one"\n')
        piped = self.puna("run", "tiny", "and this", *EXACT, "--host", self.host, stdin="first this\n").stdout
        self.assertEqual(piped, self.own("first this\n\nand this").stdout)
        self.assertEqual(piped, self.own("and this", stdin="first this\n").stdout)
        self.assertIn("generated_tokens=8", self.puna("run", "tiny", "hello", *EXACT, "--stats", "--host", self.host).stderr)

    def test_what_a_server_refuses_is_said(self):
        for args, said in ((["--host", self.host, "--think"], "does not support thinking"), (["--host", self.host, "--regex", "a"], "--regex"),
                           (["--host", self.host, "--device", "cpu"], "--device is about"), (["--host", self.host, "--local"], "--local"),
                           (["--host", "http://a b"], "--host is"), (["--host", "ftp://x"], "http or https"), (["--host", "x:99999"], "65535")):
            done = run("run", "tiny", "hello", *args, env=self.env)
            self.assertIn(done.returncode, (1, 2))
            self.assertRegex(done.stderr, r"\Aerror: [^\n]*\n\Z")
            self.assertIn(said, done.stderr)
        self.assertIn("256", self.puna("run", "tiny", "x " * 2000, "--host", self.host, code=1).stderr)
        self.assertIn("fetch other", self.puna("run", "other", "hello", "--host", self.host, code=1).stderr)
        self.assertIn("PUNA_API_KEY", self.puna("run", "tiny", "hello", "--host", self.host, PUNA_API_KEY="wrong", code=1).stderr)

    def test_no_server_is_needed(self):
        nowhere = f"127.0.0.1:{free_port()}"
        done = self.puna("run", "no-such-model", "hello", PUNA_HOST=nowhere, code=1)
        self.assertRegex(done.stderr, rf"The server at http://{nowhere} \(PUNA_HOST\) is not used: .*\nerror: .*no-such-model")
        done = self.puna("run", "other", "hello", PUNA_HOST=self.host, code=1)
        self.assertIn("does not have the model", done.stderr)
        self.assertEqual(self.puna("run", "tiny", "hello", "--local", PUNA_HOST=self.host, code=1).stderr.count("\n"), 1)
        # A path is a file of this machine.
        self.assertEqual(self.own("hello", PUNA_HOST=self.host).stderr, "")
        for command in (["ps"], ["stop", "tiny"], ["launch", "aider", "--print"], ["run", "tiny", "hello"]):
            done = self.puna(*command, "--host", nowhere, code=1)
            self.assertRegex(done.stderr, rf"\Aerror: No server answers at http://{nowhere} .*puna serve.*\n\Z")

    def test_ps(self):
        lines = self.puna("ps", "--host", self.host).stdout.splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL"])
        self.assertRegex(lines[1], r"\Atiny:latest +- +[\d.]+ [kMG]B +100% CPU +256 +Forever\Z")
        self.assertEqual(len(lines), 2)
        self.assertEqual(json.loads(self.puna("ps", "--json", "--host", self.host).stdout)["models"][0]["name"], "tiny:latest")
        narrow = Terminal([PUNA, "ps", "--host", self.host], self.env, columns=40)
        self.addCleanup(narrow.close)
        self.assertEqual(narrow.code(), 0)
        self.assertRegex(narrow.seen, r"\Atiny:latest\r\n  ID +-\r\n(  \w+ +.*\r\n){4}\Z")

    def test_stop(self):
        self.assertIn("tiny is still loaded", self.puna("stop", "tiny", "--host", self.host).stderr)
        self.assertIn("loaded: tiny:latest", self.puna("stop", "other", "--host", self.host, code=1).stderr)

    def test_launch(self):
        url = f"http://{self.host}"
        for program, said in (("claude", [f"ANTHROPIC_BASE_URL={url}", "ANTHROPIC_AUTH_TOKEN=secret", "ANTHROPIC_MODEL=tiny:latest", "CLAUDE_CODE_AUTO_COMPACT_WINDOW=256"]),
                              ("codex", ["PUNA_LAUNCH_KEY=secret", f'model_providers.puna.base_url="{url}/v1"', "model_context_window=256"]),
                              ("opencode", [f'"baseURL":"{url}/v1"', '"context":256']), ("aider", [f"OLLAMA_API_BASE={url}", "AIDER_MODEL=ollama_chat/tiny:latest"])):
            printed = self.puna("launch", program, "--print", "--host", self.host, "--", "--flag", "two words").stdout
            for piece in said:
                self.assertIn(piece, printed)
            self.assertTrue(printed.splitlines()[-1].startswith(program))
            self.assertTrue(printed.endswith("--flag 'two words'\n"))
        self.assertIn('did you mean "tiny:latest"', self.puna("launch", "aider", "--print", "--model", "tiny:latst", "--host", self.host, code=1).stderr)
        self.assertIn("Unix socket", self.puna("launch", "aider", "--print", "--host", self.socket, code=1).stderr)
        self.assertIn('did you mean "claude"', self.puna("launch", "claud", code=2).stderr)
        folder = self.home / "bin"
        folder.mkdir()
        self.assertIn("npm install", self.puna("launch", "claude", "--host", self.host, PATH=str(folder), code=1).stderr)
        (folder / "claude").write_text('#!/bin/sh\necho "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY|$@"; exit 7\n')
        (folder / "claude").chmod(0o700)
        done = self.puna("launch", "claude", "--host", self.host, "--", "-p", "hi", PATH=str(folder), code=7)
        self.assertEqual(done.stdout, f"{url} |-p hi\n")

    def chat(self, *args):
        chat = Terminal([PUNA, "run", "tiny", "--host", self.host, "--temp", "0", "--stats", *args], self.env)
        self.addCleanup(chat.close)
        chat.wait_for(r"tiny on http://[^\n]*, context 256 tokens")
        chat.wait_for_prompt()
        return chat

    def test_a_chat(self):
        chat = self.chat("-n", "8")
        first, stats = chat.say("hello")
        _, more = chat.say("hello")
        self.assertGreater(int(more["prompt_tokens"]), int(stats["prompt_tokens"]))
        chat.type("/clear\r")
        chat.wait_for_prompt()
        self.assertEqual(chat.say("hello")[0], first)
        for line, said in (("/show info", f"answered by +http://{self.host}"), ("/set think", "error: .*does not support thinking"), ("/save mine", "error: "),
                           ("/load other", "error: .*other"), ("/set parameter num_predict 3", "Set num_predict")):
            chat.type(line + "\r")
            chat.wait_for(said)
            chat.wait_for_prompt()
        self.assertEqual(chat.say("hello")[1]["generated_tokens"], "3")
        chat.type("\x04")
        self.assertEqual(chat.code(), 0)

    def test_a_full_context_ends_nothing(self):
        chat = self.chat("-n", "16")
        full = None
        while not full:
            chat.type("hello again, and again\r")
            full = chat.wait_for(r"stop=length|stop=end|error: [^\n]*256 [^\n]*(/drop[^\n]*/clear)|context of 256 tokens is (full)").group(0)
            full = full if "256" in full else None
            chat.wait_for_prompt()
        chat.type("/drop\r")
        chat.wait_for("turns are forgotten")
        chat.wait_for_prompt()
        chat.say("more")


class Hearing(unittest.TestCase):
    """A server whose model hears: what is said of a sound is what is said of it in one process."""

    def test_a_sound_goes_to_the_server(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        home = Path(folder.name)
        model = Gguf(MODEL)
        model.set("tokenizer.chat_template", STRING, TEMPLATE)
        path, mmproj, sound = model.save(home / "hearing.gguf"), write_hearing_mmproj(home / "mmproj-hearing.gguf", 64), write_wav(home / "my tone.wav")
        env = {**CLEAN, "PUNA_HOME": str(home), "TERM": "xterm"}
        host = f"127.0.0.1:{free_port()}"
        with open(home / "log", "w") as log:
            server = subprocess.Popen([PUNA, "serve", "--model", path, "--mmproj", mmproj, "--alias", "hearing", "--device", "cpu", "--threads", "1",
                                       "--port", host.split(":")[1]], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        self.addCleanup(server.wait, PATIENCE_S)
        self.addCleanup(server.terminate)
        end = time.monotonic() + PATIENCE_S
        while run("ps", "--host", host, env=env).returncode != 0:
            if server.poll() is not None or time.monotonic() > end:
                raise AssertionError((home / "log").read_text())
            time.sleep(0.1)
        figure = lambda name, text: int(re.search(rf"{name}=(\d+)", text).group(1))

        def asked(*args, code=0):
            done = run("run", *args, "What is heard?", *EXACT, "--stats", env=env)
            self.assertEqual(done.returncode, code, done.stderr)
            return done

        alone = asked(path, "--mmproj", mmproj, "--audio", sound, "--device", "cpu", "--threads", "1")
        there, without = asked("hearing", "--audio", sound, "--host", host), asked("hearing", "--host", host)
        self.assertEqual(there.stdout, alone.stdout)
        self.assertNotEqual(there.stdout, without.stdout)
        rows = figure("prompt_tokens", there.stderr) - figure("prompt_tokens", without.stderr)
        self.assertGreater(rows, 0)
        self.assertIn("sees no pictures", asked("hearing", "--image", write_png(home / "small.png"), "--host", host, code=1).stderr)

        placed = run("run", "hearing", "Hark: <__media__> What is heard?", "--raw", "--audio", sound, "--host", host, env=env)
        self.assertIn("--local", placed.stderr)

        chat = Terminal([PUNA, "run", "hearing", *EXACT, "--stats", "--host", host], env)
        self.addCleanup(chat.close)
        chat.wait_for_prompt()
        chat.type(f"'{sound}' What is heard?\r")
        chat.wait_for("goes with the message as a sound")
        stats = chat.wait_for(r"prompt_tokens=(\d+)[^\n]*\n")
        self.assertEqual(int(stats[1]), figure("prompt_tokens", there.stderr))


class Says(http.server.BaseHTTPRequestHandler):
    """Answers a path as `answers` of its server has it: status and pieces of the body; None waits until the end of the test."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.path, body))
        status, pieces = self.server.answers.get(self.path, (404, [{"error": "no such path"}]))
        self.send_response(status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            if piece is None:
                self.server.over.wait(PATIENCE_S)
                return
            if piece == "cut":
                self.close_connection = True
                return
            data = piece if isinstance(piece, bytes) else json.dumps(piece).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = answer

    def log_message(self, *args):
        pass


def piece(text, **rest):
    return {"message": {"role": "assistant", "content": text}, "done": False, **rest}


class StandIn(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Says)
        self.server.daemon_threads = True
        self.server.asked, self.server.over = [], threading.Event()
        self.end = {**piece(""), "done": True, "done_reason": "stop", "eval_count": 2, "eval_duration": 10**9, "total_duration": 2 * 10**9}
        self.server.answers = {"/api/version": (200, [{"version": "0"}]), "/api/show": (200, [{"template": "x", "capabilities": ["completion", "thinking"]}]),
                               "/api/ps": (200, [{"models": []}]), "/api/chat": (200, [piece("Hel"), piece("lo"), self.end])}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.over.set)
        self.host = f"127.0.0.1:{self.server.server_port}"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.env = {**CLEAN, "PUNA_HOME": folder.name, "TERM": "xterm"}

    def ask(self, *args, code=0, **rest):
        done = run("run", "m", "hello", "--host", self.host, *args, env=self.env, **rest)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def last(self, path):
        return [body for asked, body in self.server.asked if asked == path][-1]

    def test_what_is_sent(self):
        self.assertEqual(self.ask().stdout, "Hello\n")
        self.assertEqual(self.last("/api/chat"), {"model": "m", "messages": [{"role": "user", "content": "hello"}]})
        self.ask("--temp", "0.5", "--top-k", "3", "--seed", "4", "-n", "5", "--stop", "a", "--stop", "b", "--logit-bias", "7=-inf", "--think=low", "--keepalive", "5m",
                 "--system", "s", "--format", "json")
        sent = self.last("/api/chat")
        self.assertEqual(sent["options"], {"temperature": 0.5, "top_k": 3, "seed": 4, "num_predict": 5, "stop": ["a", "b"], "logit_bias": [[7, False]]})
        self.assertEqual((sent["think"], sent["keep_alive"], sent["format"], sent["messages"][0]), ("low", "5m", "json", {"role": "system", "content": "s"}))
        self.ask("--keepalive", "-1")
        self.assertEqual(self.last("/api/chat")["keep_alive"], -1)

    def test_thinking_goes_to_stderr(self):
        self.server.answers["/api/chat"] = (200, [{"message": {"content": "", "thinking": "Hm."}, "done": False}, piece("Yes"), self.end])
        done = self.ask()
        self.assertEqual((done.stdout, done.stderr), ("Yes\n", "Thinking...\nHm.\n...done thinking.\n\n"))
        self.assertEqual(self.ask("--hidethinking").stderr, "")

    def test_pieces_of_lines(self):
        whole = b"".join(json.dumps(each).encode() + b"\n" for each in (piece("G\u00fc"), piece("te"), self.end))
        self.server.answers["/api/chat"] = (200, [whole[i : i + 1] for i in range(len(whole))])
        self.assertEqual(self.ask().stdout, "G\u00fcte\n")

    def test_answers_that_fail(self):
        for answer, said in (((200, [piece("Hel"), {"error": "the model broke"}]), "the model broke"), ((200, [piece("Hel"), "cut"]), "failed"),
                             ((200, [piece("Hel")]), "before it was whole"), ((200, [b"<html>\n"]), "While reading what"),
                             ((500, [{"error": {"message": "nested"}}]), "nested"), ((503, [b"busy"]), "status 503"), ((200, []), "before it was whole")):
            self.server.answers["/api/chat"] = answer
            self.assertIn(said, self.ask(code=1).stderr)
        self.server.answers["/api/version"] = (200, [b"hello"])
        self.assertIn("no server of Puna's", self.ask(code=1).stderr)

    def test_a_missing_model_is_fetched_by_the_server(self):
        self.server.answers["/api/show"] = (404, [{"error": "model 'm' not found"}])
        self.server.answers["/api/pull"] = (200, [{"status": "pulling", "total": 10, "completed": 5}, {"status": "success"}])
        self.ask(code=1)  # the stand-in still says that it has none
        self.assertEqual(self.last("/api/pull"), {"model": "m"})
        self.server.answers["/api/pull"] = (200, [{"error": "no room"}])
        self.assertIn("no room - While having the server", self.ask(code=1).stderr)

    def test_ctrl_c_leaves_the_server(self):
        self.server.answers["/api/chat"] = (200, [piece("Hel"), None])
        chat = Terminal([PUNA, "run", "m", "--host", self.host], self.env)
        self.addCleanup(chat.close)
        chat.wait_for_prompt()
        chat.type("hello\r")
        chat.wait_for("Hel")
        chat.type("\x03")
        chat.wait_for_prompt()
        self.server.answers["/api/chat"] = (200, [piece("again"), self.end])
        chat.type("more\r")
        chat.wait_for("again")
        chat.wait_for_prompt()
        self.assertEqual([each["content"] for each in self.last("/api/chat")["messages"]], ["hello", "Hel", "more"])
        self.server.answers["/api/create"] = (200, [{"status": "success"}])
        chat.type("/set parameter top_k 5\r")
        chat.wait_for_prompt()
        chat.type("/save mine\r")
        chat.wait_for("mine is made")
        self.assertEqual({key: value for key, value in self.last("/api/create").items() if key != "messages"}, {"model": "mine", "from": "m", "parameters": {"top_k": 5}})
        self.assertEqual(len(self.last("/api/create")["messages"]), 4)
        chat.wait_for_prompt()
        chat.type("/bye\r")
        self.assertEqual(chat.code(), 0)

    def test_tables(self):
        soon = time.strftime("%Y-%m-%dT%H:%M:%S.5+00:00", time.gmtime(time.time() + 250))
        models = [{"name": "a:1", "digest": "0123456789abcdef", "size": 2_000_000_000, "size_vram": 2_000_000_000, "context_length": 4096, "expires_at": soon},
                  {"name": "b\x1b:2", "size": 1000, "size_vram": 520, "expires_at": "0001-01-01T00:00:00Z"}]
        self.server.answers["/api/ps"] = (200, [{"models": models}])
        lines = run("ps", "--host", self.host, env=self.env).stdout.splitlines()
        self.assertRegex(lines[1], r"a:1 +0123456789ab +2\.0 GB +100% GPU +4096 +4 minutes from now")
        self.assertRegex(lines[2], r"b\\u001b:2 +- +1\.0 kB +48%/52% CPU/GPU +- +Stopping\.\.\.")


if __name__ == "__main__":
    unittest.main()
