#!/usr/bin/env python3
"""Models that are made from Modelfiles, shown and run, on the command line and over HTTP.

usage: tests/cli/create_test.py PUNA
"""
import hashlib
import json
import re
import subprocess
import unittest
import urllib.error
import urllib.request

from own_home import MODEL, PUNA, OwnHome
from tiny_gguf import F32, I32, U16, U32, Gguf, value, write_gguf

GOLDENS = MODEL.parent


class Create(OwnHome):
    def create(self, name, modelfile, *args, code=0):
        (self.path / "Modelfile").write_text(modelfile)
        return self.run_puna("create", name, *args, code=code)

    def shown(self, name):
        return self.told("show", name)

    def serve(self, model, *flags):
        """A server of the model; returns what asks it, and gives the objects of the answer."""
        server = subprocess.Popen([PUNA, "serve", "--model", str(model), "--device", "cpu", "--port", "0", "--ctx", "64", *flags], env=self.env,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.terminate)
        address = next(found[1] for line in server.stderr if (found := re.search(r"(http://127.0.0.1:\d+)", line)))

        def ask(method, path, body=None, status=200):
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            try:
                with urllib.request.urlopen(urllib.request.Request(address + path, data, method=method), timeout=60) as reply:
                    got, text = reply.status, reply.read().decode()
            except urllib.error.HTTPError as error:
                got, text = error.code, error.read().decode()
                error.close()
            self.assertEqual(got, status, text)
            return [json.loads(line) for line in text.splitlines()]

        return ask

    def test_a_model_is_made_shown_made_again_and_run(self):
        (self.path / "tiny.gguf").write_bytes(MODEL.read_bytes())
        made = self.create("me/first", 'FROM ./tiny.gguf\nTEMPLATE """{{ .System }}|{{ .Prompt }}"""\nSYSTEM Be brief.\nPARAMETER stop "~~~~"\n'
                           'PARAMETER temperature 0\nPARAMETER num_predict 3\nLICENSE Free.\n')
        self.assertEqual(made.stderr.splitlines()[0], "parsing GGUF")
        self.assertEqual(made.stderr.splitlines()[-1], "success")
        shown = self.shown("ME/First")
        self.assertEqual(shown["name"], "me/first:latest")
        self.assertEqual((shown["system"], shown["license"], shown["template"]), ("Be brief.", "Free.", "{{ .System }}|{{ .Prompt }}"))
        self.assertEqual(shown["parameters"], {"stop": ["~~~~"], "temperature": 0, "num_predict": 3})
        self.assertEqual(shown["details"]["family"], "llama")
        self.assertEqual(self.run_puna("show", "me/first", "--system").stdout, "Be brief.\n")
        self.assertIn("num_predict", self.run_puna("show", "me/first", "--parameters").stdout)
        self.assertIn("Capabilities", self.run_puna("show", "me/first").stdout)
        self.assertIn("token_embd.weight", self.run_puna("show", "me/first", "-v").stdout)
        self.assertIn("llama", self.run_puna("show", MODEL).stdout)
        self.run_puna("show", "me/first", "--system", "--license", code=2)
        self.assertIn("did you mean", self.run_puna("show", "me/firsd", code=1).stderr)

        # What is shown as a Modelfile makes the same model again, without reading the file again.
        again = self.run_puna("show", "me/first", "--modelfile").stdout
        self.create("second", again)
        self.assertEqual({**self.shown("second"), "name": "", "modelfile": ""}, {**shown, "name": "", "modelfile": ""})
        self.create("third", "FROM me/first\nPARAMETER num_predict 5\n", "-f", "Modelfile", "--quantize", "q8_0")
        self.assertEqual(self.shown("third")["details"]["quantization_level"], "Q8_0")
        self.assertTrue(self.told("verify")["fine"])

        # The Modelfile is what a run begins with, and flags come before it.
        count = lambda *args: int(re.search(r"generated_tokens=(\d+)", self.run_puna("run", *args, "--device", "cpu", "--stats").stderr)[1])
        self.assertEqual(count("me/first", "Hi", "--ignore-eos", "--raw"), 3)
        self.assertEqual(count("third", "Hi", "--ignore-eos", "--raw"), 5)
        self.assertEqual(count("third", "Hi", "--ignore-eos", "--raw", "-n", "2"), 2)

    def test_a_request_comes_before_the_modelfile_this_before_the_file_and_that_before_flags(self):
        model = Gguf(MODEL)
        model.set("general.sampling.temp", F32, 0.25)
        model.set("general.sampling.top_k", U32, 7)
        model.save(self.path / "tiny.gguf")
        self.create("mine", "FROM ./tiny.gguf\nPARAMETER top_k 5\nPARAMETER num_predict 3\n")
        ask = self.serve("mine", "--temp", "1.5", "--top-k", "9", "--min-p", "0.25", "-n", "6")

        def settings(**request):
            return ask("POST", "/completion", {"prompt": "Hi", **request})[0]["generation_settings"]

        said = settings()
        self.assertEqual([said[key] for key in ("temperature", "top_k", "n_predict", "min_p")], [0.25, 5, 3, 0.25])
        said = settings(temperature=0.5, top_k=2, n_predict=1, min_p=0.125)
        self.assertEqual([said[key] for key in ("temperature", "top_k", "n_predict", "min_p")], [0.5, 2, 1, 0.125])

        # The command line of a run is the request.
        run = lambda *args: self.run_puna("run", "mine", "Hi", "--raw", "--ignore-eos", "--device", "cpu", "--output-tokens", *args).stdout.split()
        self.assertEqual(len(run()), 3)
        likeliest = run("-n", "8", "--top-k", "1")
        self.assertEqual(run("-n", "8", "--temp", "0"), likeliest)
        self.assertEqual(len(likeliest), 8)

    def test_a_folder_of_weights_becomes_a_model(self):
        folder = GOLDENS / "small_llama-bf16"
        made = self.create("folder", f"FROM {folder}\n")
        self.assertEqual(made.stderr.splitlines()[0], "converting model")
        self.assertEqual(self.shown("folder")["details"]["format"], "gguf")

    def test_a_model_is_made_of_all_parts_of_a_split_file(self):
        model = Gguf(MODEL)
        ends = [tensor[3] for tensor in model.tensors[1:]] + [len(model.tensor_data)]
        tensors = [(name, shape, kind, model.tensor_data[at:end]) for (name, shape, kind, at), end in zip(model.tensors, ends)]
        for number, (pairs, part) in enumerate([(model.pairs, []), ({}, tensors[:5]), ({}, tensors[5:])]):
            said = {"split.no": value(U16, number), "split.count": value(U16, 3), "split.tensors.count": value(I32, len(tensors))}
            write_gguf(self.path / f"m-{number + 1:05}-of-00003.gguf", {**pairs, **said}, part)
        run = lambda name: self.run_puna("run", name, "Hi", "--raw", "--temp", "0", "-n", "8", "--device", "cpu").stdout
        for number in (1, 3):
            self.create("split", f"FROM ./m-{number:05}-of-00003.gguf\n")
            self.assertEqual(run("split"), run(MODEL))
            self.assertEqual(self.told("verify")["blobs"], 4)
            self.run_puna("rm", "split")

    def test_a_damaged_blob_is_replaced_by_what_brings_its_bytes(self):
        modelfile = f"FROM {MODEL}\nSYSTEM Be brief.\n"
        self.create("first", modelfile)
        for path in (self.path / "home/models/blobs").iterdir():
            whole = path.read_bytes()
            path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.assertFalse(self.told("verify", code=1)["fine"])
        self.create("second", modelfile)
        self.assertTrue(self.told("verify")["fine"])

    def test_what_cannot_be_made_is_named_and_leaves_nothing(self):
        for modelfile, said in [("FROM nothing-of-this-name\n", "nothing-of-this-name"),
                                ("FROM ./tiny.guf\n", "no file or folder"), ("FROM /no/such\n", 'no file or folder "/no/such"'), ("SYSTEM x\n", "no FROM line"),
                                (f"FROM {MODEL}\nPARAMETER top_q 1\n", "(line 2)"), (f"FROM {MODEL}\nTEMPLATE {{{{ if }}}}\n", "template"),
                                (f"FROM {MODEL}\nADAPTER x\n", "adapter")]:
            self.assertIn(said, self.create("a", modelfile, code=1).stderr)
        self.assertIn("q9", self.create("a", f"FROM {MODEL}\n", "-q", "q9", code=2).stderr)
        self.assertIn("catalogue", self.create("smollm2", f"FROM {MODEL}\n", code=1).stderr)
        self.run_puna("create", "a", "-f", "missing", code=1)
        self.assertEqual(self.names(), [])

    def test_models_are_made_over_http(self):
        ask = self.serve(MODEL, "--max-body", "1")
        weights = MODEL.read_bytes()
        digest = "sha256:" + hashlib.sha256(weights).hexdigest()
        ask("HEAD", f"/api/blobs/{digest}", status=404)
        ask("POST", f"/api/blobs/{digest}", weights[:-1], status=400)
        ask("POST", f"/api/blobs/{digest}", weights, status=201)
        ask("HEAD", f"/api/blobs/{digest}")
        big = bytes(3_000_000)
        ask("POST", "/api/blobs/sha256:" + hashlib.sha256(big).hexdigest(), big, status=201)
        lines = ask("POST", "/api/create", {"model": "sent", "files": {"model.gguf": digest}, "system": "Be brief.", "parameters": {"top_k": 3}})
        self.assertEqual(lines[-1], {"status": "success"})
        self.assertEqual(ask("POST", "/api/show", {"model": "sent"})[0]["system"], "Be brief.")
        self.assertEqual(self.shown("sent")["parameters"], {"top_k": 3})
        ask("POST", "/api/copy", {"source": "sent", "destination": "second"})
        names = [model["name"] for model in ask("GET", "/api/tags")[0]["models"]]
        self.assertEqual(sorted(names), ["llama-q4_0:latest", "second:latest", "sent:latest"])
        ask("DELETE", "/api/delete", {"model": "sent"})
        self.assertEqual(ask("DELETE", "/api/delete", {"model": "sent"}, status=404), [{"error": "model 'sent' not found"}])
        self.assertEqual(ask("POST", "/api/show", {"model": "sent"}, status=404), [{"error": "model 'sent' not found"}])
        for name in ["../x", "a" * 300, str(MODEL), "sha256:../../x"]:
            ask("POST", "/api/create", {"model": name, "from": "second"}, status=400)
            ask("POST", "/api/copy", {"source": "second", "destination": name}, status=400)
        ask("POST", "/api/create", {"model": "new", "from": str(MODEL)}, status=400)
        ask("POST", "/api/pull", {"model": "example.invalid/a/b", "insecure": True}, status=400)


if __name__ == "__main__":
    unittest.main()
