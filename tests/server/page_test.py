#!/usr/bin/env python3
"""Asks `puna serve` for its web page over HTTP, whichever page was built in: headers, codings, caching, who gets it, and what is no file of
it. The files that a page loads are asked for where there are any; a build without the page says so (SKIPPED:).

usage: tests/server/page_test.py PUNA
"""
import base64
import contextlib
import gzip
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from html.parser import HTMLParser
from pathlib import Path

MODEL = str(Path(__file__).resolve().parent.parent / "goldens/llama-q4_0.gguf")
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
SECONDS = 60  # for anything to happen
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Encoding": "gzip, deflate, br, zstd"}
HTML = {"Accept": "text/html"}


class Reply:
    def __init__(self, answer):
        self.status, self.body = answer.status, answer.read()
        self.headers = dict(answer.getheaders())

    def json(self):
        return json.loads(self.body)


class Document(HTMLParser):
    """What a document loads from its own server, and the texts of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.paths, self.inline, self.policy, self.inside = [], {"script": [], "style": []}, None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "link":
            self.paths.append(attrs["href"])
        if tag == "meta" and attrs.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = attrs["content"]
        if tag in self.inline and "src" not in attrs:
            self.inside = tag
            self.inline[tag].append("")

    def handle_endtag(self, tag):
        self.inside = None if tag == self.inside else self.inside

    def handle_data(self, data):
        if self.inside:
            self.inline[self.inside][-1] += data


def directives(policy):
    parts = [part.split() for part in policy.split(";") if part.strip()]
    return {part[0]: part[1:] for part in parts}


def ask(port, path, headers=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        # No header but those that are given, and Host.
        connection.putrequest(method, path, skip_accept_encoding=True, skip_host="Host" in (headers or {}))
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders()
        return Reply(connection.getresponse())
    finally:
        connection.close()


@contextlib.contextmanager
def server(*args, **variables):
    """The port of a server with the tiny model."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PUNA_", "LLAMA_", "OLLAMA_"))}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        env = {**clean, "PUNA_HOME": folder, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0", **variables}
        with open(log, "w") as file:
            process = subprocess.Popen([PUNA, "serve", "--model", MODEL, "--device", "cpu", "--threads", "1", "--ctx", "64", "--port", "0", *args],
                                       stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env)
        try:
            end = time.monotonic() + SECONDS
            while not (found := re.search(r"is served on http://127\.0\.0\.1:(\d+)", log.read_text())):
                if process.poll() is not None or time.monotonic() > end:
                    raise AssertionError(f"no server: {log.read_text()}")
                time.sleep(0.05)
            yield int(found.group(1))
            process.send_signal(signal.SIGTERM)
            if process.wait(SECONDS):
                raise AssertionError(log.read_text())
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.running = contextlib.ExitStack()
        cls.port = cls.running.enter_context(server())
        cls.index = ask(cls.port, "/index.html")
        cls.document = Document(cls.index.body.decode())
        cls.built = cls.document.policy is not None

    @classmethod
    def tearDownClass(cls):
        cls.running.close()

    def ask(self, path, headers=None, method="GET"):
        return ask(self.port, path, headers, method)

    def needs_page(self):
        if not self.built:
            self.skipTest("this build has no web page")

    def check_headers(self, reply):
        for name, value in [("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Embedder-Policy", "require-corp"),
                            ("Cross-Origin-Resource-Policy", "same-origin"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer")]:
            self.assertEqual(reply.headers.get(name), value, reply.headers)

    def test_browsers_get_the_page_and_others_hear_of_ollama(self):
        for headers in [BROWSER, HTML, {"Accept": "*/*", "Sec-Fetch-Site": "same-origin"}]:
            reply = self.ask("/", headers)
            self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            self.assertIn("Accept", reply.headers["Vary"].split(", "))
            self.check_headers(reply)
        for headers in [{}, {"Accept": "*/*"}, {"Accept": "application/json"}]:
            self.assertEqual((self.ask("/", headers).status, self.ask("/", headers).body), (200, b"Ollama is running"))
        self.assertEqual(self.ask("/", HTML).body, self.index.body)
        self.assertEqual(self.ask("/?chat=1", HTML).body, self.index.body)

    def test_the_policy_has_what_stands_in_the_document(self):
        policy = directives(self.index.headers["Content-Security-Policy"])
        for tag in ["script", "style"]:
            digests = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in self.document.inline[tag]]
            self.assertEqual([word for word in policy[f"{tag}-src"] if word.startswith("'sha256-")], digests)
        self.assertEqual(policy["default-src"], ["'none'"])
        self.assertEqual(policy["connect-src"], ["'self'"])
        self.assertEqual(policy["frame-ancestors"], ["'none'"])
        self.assertNotIn("'unsafe-inline'", sum(policy.values(), []))
        self.assertNotIn("'unsafe-eval'", sum(policy.values(), []))

    def test_the_policy_in_the_document_is_the_same_but_for_where_models_come_from(self):
        self.needs_page()
        inside = directives(self.document.policy)
        header = directives(self.index.headers["Content-Security-Policy"])
        self.assertEqual(inside.pop("connect-src"), ["'self'", "https:"])
        self.assertEqual(header.pop("connect-src"), ["'self'"])
        header.pop("frame-ancestors")  # which a document cannot say of itself
        self.assertEqual({name: sorted(words) for name, words in inside.items()}, {name: sorted(words) for name, words in header.items()})

    def test_codings(self):
        plain = self.index
        self.assertNotIn("Content-Encoding", plain.headers)
        gzipped = self.ask("/", {**HTML, "Accept-Encoding": "gzip, deflate"})
        self.assertEqual(gzipped.headers["Content-Encoding"], "gzip")
        self.assertEqual(gzip.decompress(gzipped.body), plain.body)
        self.assertLess(len(gzipped.body), len(plain.body))
        for accepted, coding in [("", None), ("identity", None), ("gzip;q=0", None), ("gzip;q=0.5, identity", None), ("x-gzip", "gzip"),
                                 ("identity;q=0, gzip", "gzip"), ("br;q=0, *", "gzip"), ("gzip;q=1, br;q=0.9", "gzip")]:
            reply = self.ask("/", {**HTML, "Accept-Encoding": accepted})
            self.assertEqual((reply.status, reply.headers.get("Content-Encoding")), (200, coding), accepted)
            self.assertIn("Accept-Encoding", reply.headers["Vary"])
        for refused in ["identity;q=0", "*;q=0", "compress, identity;q=0"]:
            reply = self.ask("/", {**HTML, "Accept-Encoding": refused})
            self.assertEqual((reply.status, reply.json()["error"]["code"]), (406, 406), refused)

    def test_brotli(self):
        self.needs_page()
        reply = self.ask("/", BROWSER)
        self.assertEqual(reply.headers["Content-Encoding"], "br")
        self.assertLess(len(reply.body), len(self.ask("/", {**HTML, "Accept-Encoding": "gzip"}).body))

    def test_what_a_browser_has_is_not_sent_again(self):
        self.assertEqual(self.index.headers["Cache-Control"], "no-cache")
        tags = set()
        for coding in ["identity", "gzip"]:
            first = self.ask("/", {**HTML, "Accept-Encoding": coding})
            tag = first.headers["ETag"]
            tags.add(tag)
            for known in [tag, f"W/{tag}", f'"x", {tag}', "*"]:
                again = self.ask("/", {**HTML, "Accept-Encoding": coding, "If-None-Match": known})
                self.assertEqual((again.status, again.body, again.headers["ETag"]), (304, b"", tag))
                self.assertNotIn("Content-Length", again.headers)
                self.assertIn("Content-Security-Policy", again.headers)
            self.assertEqual(self.ask("/", {**HTML, "Accept-Encoding": coding, "If-None-Match": '"x"'}).status, 200)
        self.assertEqual(len(tags), 2)

    def test_a_connection_goes_on_behind_a_304(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        tag = self.index.headers["ETag"]
        for known, status in [(tag, 304), ('"x"', 200), (tag, 304)]:
            connection.putrequest("GET", "/index.html", skip_accept_encoding=True)
            connection.putheader("If-None-Match", known)
            connection.endheaders()
            self.assertEqual(Reply(connection.getresponse()).status, status)
        connection.close()

    def test_head_is_get_without_a_body(self):
        for path, headers in [("/index.html", {}), ("/", BROWSER)]:
            get, head = self.ask(path, headers), self.ask(path, headers, "HEAD")
            self.assertEqual((head.status, head.body), (200, b""))
            for reply in [get, head]:
                reply.headers.pop("Date"), reply.headers.pop("X-Request-Id")
            self.assertEqual(head.headers, get.headers)
            self.assertEqual(int(head.headers["Content-Length"]), len(get.body))

    def test_files_are_only_read(self):
        for method in ["POST", "PUT", "DELETE"]:
            reply = self.ask("/index.html", {"Content-Length": "0"}, method)
            self.assertEqual((reply.status, reply.headers["Allow"]), (405, "GET, HEAD, OPTIONS"), method)

    def test_what_is_no_file_is_404_in_the_form_of_its_dialect(self):
        self.assertEqual(self.ask("/v1/nothing", BROWSER).json()["error"]["code"], 404)
        self.assertIsInstance(self.ask("/api/nothing", BROWSER).json()["error"], str)
        self.assertEqual(self.ask("/v1/messages/nothing", BROWSER).json()["type"], "error")
        for path in ["/nothing", "/index.html/", "/index.html.gz", "/index.html.br", "/_app/", "/_app/immutable/nothing.js", "/INDEX.HTML", "//index.html",
                     "/../index.html", "/%2e%2e/index.html", "/_app/../index.html", "/_app/..%2findex.html", "/..%2f..%2fetc/passwd", "/....//etc/passwd",
                     "/index.html%2f..%2f..", "/page.pack", "/./index.html", "/~root"]:
            reply = self.ask(path, BROWSER)
            self.assertEqual((reply.status, reply.json()["error"]["code"]), (404, 404), path)
        self.assertEqual(self.ask("/index.html%00", BROWSER).status, 400)
        # Routes stay what they are, whoever asks.
        self.assertEqual(self.ask("/v1/chat/completions", BROWSER).status, 405)
        self.assertEqual(self.ask("/health", BROWSER).json(), {"status": "ok"})

    def test_hosts_are_checked(self):
        for path in ["/", "/index.html"]:
            self.assertEqual(self.ask(path, {**HTML, "Host": "evil.example"}).status, 403)

    def test_all_that_the_page_loads_is_there(self):
        self.needs_page()
        script = "".join(self.document.inline["script"])
        paths = set(self.document.paths) | set(re.findall(r'import\("([^"]+)"\)', script))
        self.assertGreater(len(paths), 3)
        types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
                 ".webmanifest": "application/manifest+json", ".woff2": "font/woff2"}
        for path in paths:
            # From where the document lies, so that it may lie anywhere.
            self.assertTrue(path.startswith("./"), path)
            plain = self.ask(path[1:])
            self.assertEqual(plain.status, 200, path)
            self.check_headers(plain)
            self.assertEqual(plain.headers["Content-Type"], types[Path(path).suffix])
            immutable = path.startswith("./_app/immutable/")
            self.assertEqual(plain.headers["Cache-Control"], "public, max-age=31536000, immutable" if immutable else "no-cache", path)
            gzipped = self.ask(path[1:], {"Accept-Encoding": "gzip"})
            if "Content-Encoding" in gzipped.headers:
                self.assertEqual(gzip.decompress(gzipped.body), plain.body, path)
            else:
                self.assertEqual(gzipped.body, plain.body, path)
            self.assertEqual(self.ask(path[1:], {"If-None-Match": plain.headers["ETag"]}).status, 304)

    def test_licences_and_what_the_tab_can(self):
        self.needs_page()
        licences = self.ask("/licences.txt")
        self.assertEqual((licences.status, licences.headers["Content-Type"]), (200, "text/plain; charset=utf-8"))
        self.assertRegex(licences.body.decode(), r"(?m)^svelte [0-9.]+ \(MIT\)$")
        told = self.ask("/puna.json").json()
        self.assertEqual(self.ask("/puna/index.js").status, 200 if told["tab"] else 404)
        self.assertEqual(self.ask("/puna/puna-mt.wasm").status, 200 if told["threads"] else 404)

    def test_with_a_key_the_page_is_public_and_the_interfaces_are_not(self):
        with server("--api-key", "secret") as port:
            self.assertEqual(ask(port, "/", HTML).status, 200)
            self.assertEqual(ask(port, "/index.html").status, 200)
            self.assertEqual(ask(port, "/v1/models", HTML).status, 401)
            self.assertEqual(ask(port, "/v1/models", {"Authorization": "Bearer secret"}).status, 200)

    def test_behind_a_prefix(self):
        with server("--api-prefix", "/llm") as port:
            self.assertEqual(ask(port, "/llm/", HTML).body, self.index.body)
            self.assertEqual(ask(port, "/llm/index.html").body, self.index.body)
            moved = ask(port, "/llm", HTML)
            self.assertEqual((moved.status, moved.headers["Location"]), (308, "/llm/"))
            for path in ["/", "/index.html", "/llmx/index.html"]:
                self.assertEqual(ask(port, path, HTML).status, 404, path)

    def test_without_the_page(self):
        for args, variables in [(["--no-web"], {}), (["--no-ui"], {}), (["--no-webui"], {}), ([], {"PUNA_WEB": "off"}), ([], {"LLAMA_ARG_UI": "off"})]:
            with self.subTest(args=args, variables=variables), server(*args, **variables) as port:
                self.assertEqual(ask(port, "/", BROWSER).body, b"Ollama is running")
                self.assertEqual(ask(port, "/index.html", BROWSER).json()["error"]["code"], 404)

    def test_a_build_without_the_page_says_how_to_get_it(self):
        if self.built:
            self.skipTest("this build has the web page; page_test.cpp asks one that has not")
        self.assertIn(b"tools/setup --web", self.index.body)
        self.assertEqual(self.document.paths, [])


if __name__ == "__main__":
    run = unittest.main(exit=False).result
    # ctest counts the whole as skipped where nothing of a page could be looked at.
    if run.wasSuccessful() and any("no web page" in why for _, why in run.skipped):
        print("SKIPPED: this build has no web page; tools/setup --web gets what builds it. What needs none was tested.")
    sys.exit(not run.wasSuccessful())
