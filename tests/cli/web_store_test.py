#!/usr/bin/env python3
"""What `puna serve --web-store` keeps of the page's conversations: for each key apart, over an end of the server and a kill, and what it
refuses. Servers that were started are ended by their ids.

usage: tests/cli/web_store_test.py PUNA
"""
import hashlib
import json
import sqlite3
import threading
import time
import unittest
import urllib.error
import urllib.request

import many_models_test as many

HELLO = b"\x00\xff<script>hello</script>"


def whole(table, key, time_ms, **value):
    return {"table": table, "id": key, "time": time_ms, "whole": True, "value": value}


class WebStore(many.Many):
    # Those of the class it comes from are run by their own file.
    for name in [each for each in vars(many.Many) if each.startswith("test_")]:
        locals()[name] = None
    del name

    def setUp(self):
        self.file = self.path / f"{self.id()}.sqlite"

    def ask(self, server, path, body=None, key="one", form=None):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        data = None if body is None else json.dumps(body).encode()
        if form is not None:
            data = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n' + form + b"\r\n--x--\r\n"
            headers["Content-Type"] = "multipart/form-data; boundary=x"
        request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=many.SECONDS) as reply:
                text = reply.read()
                return reply.status, json.loads(text) if reply.headers["Content-Type"] == "application/json" else text
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def kept(self, *args):
        return self.server("--models-dir", self.models, "--web-store", self.file, "--api-key", "one,two", *args)

    def test_what_a_device_keeps_others_of_its_key_have_and_nobody_else(self):
        with self.kept() as server:
            changes = [whole("messages", "m", 5, convId="c", parent=None, content="Hello"), whole("conversations", "c", 5, name="One")]
            status, told = self.ask(server, "/web-store", {"changes": changes})
            self.assertEqual((status, told["revision"]), (200, 2))
            digest = hashlib.sha256(HELLO).hexdigest()
            self.assertEqual(self.ask(server, f"/web-store/files/{digest}")[0], 404)
            self.assertEqual(self.ask(server, "/web-store/files", form=HELLO), (200, {"sha256": digest}))
        with self.kept() as server:  # another process, the same file
            status, told = self.ask(server, "/web-store?after=0")
            self.assertEqual([(each["id"], each["value"]) for each in told["changes"]],
                             [("c", {"name": "One"}), ("m", {"convId": "c", "parent": None, "content": "Hello"})])
            self.assertEqual(self.ask(server, f"/web-store/files/{digest}"), (200, HELLO))
            self.assertEqual(self.ask(server, "/web-store", key="two")[1]["changes"], [])
            self.assertEqual(self.ask(server, f"/web-store/files/{digest}", key="two")[0], 404)
            for key in ["three", None]:
                self.assertEqual(self.ask(server, "/web-store", key=key)[0], 401)
                self.assertEqual(self.ask(server, "/web-store/files", key=key, form=HELLO)[0], 401)

    def test_what_was_answered_survives_a_kill(self):
        taken = []
        with self.assertRaises(AssertionError):  # it did not end as it was told to
            with self.kept() as server:
                def write():
                    for i in range(100000):
                        try:
                            status, _ = self.ask(server, "/web-store", {"changes": [whole("messages", f"m{i}", 1, convId="c")]})
                        except OSError:
                            return
                        if status == 200:
                            taken.append(f"m{i}")

                writer = threading.Thread(target=write)
                writer.start()
                while len(taken) < 20:
                    time.sleep(0.01)
                server.process.kill()
                writer.join()
        with self.kept() as server:
            there = {each["id"] for each in self.ask(server, "/web-store")[1]["changes"]}
            self.assertLessEqual(set(taken), there)
            self.assertLessEqual(len(there), len(taken) + 1)

    def test_two_devices_that_write_at_once_lose_nothing(self):
        with self.kept() as server:
            def write(device):
                for i in range(25):
                    changes = [whole("messages", f"{device}-{i}", 1, convId="c"), {"table": "conversations", "id": "c", "time": i + 1, "value": {device: i}}]
                    self.assertEqual(self.ask(server, "/web-store", {"changes": changes})[0], 200)

            self.ask(server, "/web-store", {"changes": [whole("conversations", "c", 1, name="One")]})
            threads = [threading.Thread(target=write, args=(device,)) for device in ["a", "b", "d"]]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            rows = {each["id"]: each for each in self.ask(server, "/web-store")[1]["changes"]}
            self.assertEqual(len(rows), 76)
            self.assertEqual(rows["c"]["value"], {"name": "One", "a": 24, "b": 24, "d": 24})

    def test_bad_input_is_refused_whole_and_the_server_goes_on(self):
        with self.kept() as server:
            good = whole("conversations", "c", 1, name="One")
            for bad in [{}, {"changes": 3}, {"changes": [good, {"table": "drafts", "id": "d", "time": 1, "removed": True}]},
                        {"changes": [good, {"table": "messages", "id": "x" * 201, "time": 1, "removed": True}]},
                        {"changes": [good, {**good, "time": 1e300}]}, {"changes": [good, {**good, "value": []}]}]:
                status, told = self.ask(server, "/web-store", bad)
                self.assertEqual(status, 400, told)
            for after in ["x", "-1", "1e3"]:
                self.assertEqual(self.ask(server, f"/web-store?after={after}")[0], 400)
            self.assertEqual(self.ask(server, "/web-store/files", {"file": "no form"})[0], 400)
            self.assertEqual(self.ask(server, "/web-store")[1]["changes"], [])
            self.assertEqual(self.ask(server, "/web-store", {"changes": [good]})[0], 200)

    def test_without_the_flag_there_is_none_and_beyond_loopback_it_needs_a_key(self):
        with self.server("--models-dir", self.models) as server:
            for path, body in [("/web-store", None), ("/web-store", {"changes": []}), ("/web-store/files/" + "0" * 64, None)]:
                status, told = self.ask(server, path, body, key=None)
                self.assertEqual(status, 501, told)
                self.assertIn("--web-store", told["error"]["message"])
        sqlite3.connect(self.path / "newer").execute("PRAGMA user_version = 9").connection.close()
        (self.path / "other").write_bytes(b"no database" * 1000)
        refused = [(["--web-store", "x", "--host", "0.0.0.0", "--no-auth"], 2, "--api-key"), (["--web-store", "newer"], 1, "version 9"),
                   (["--web-store", "other"], 1, "not a database"), (["--web-store", self.path / "none" / "x"], 1, "No such file")]
        for args, code, said in refused:
            run = many.subprocess.run([many.PUNA, "serve", "--port", "0", *map(str, args)], stdin=many.subprocess.DEVNULL, capture_output=True, text=True,
                                      cwd=self.path, env=self.env, timeout=many.SECONDS)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(said, run.stderr)


if __name__ == "__main__":
    unittest.main()
