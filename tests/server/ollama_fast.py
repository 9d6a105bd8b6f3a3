#!/usr/bin/env python3
"""Asks `puna serve` what the fast group of ollama's own integration tests asks of a server with a small model, and checks the same members.

usage: tests/server/ollama_fast.py PUNA MODEL [EMBEDDING_MODEL]

Those tests (`go test -tags integration,fast ./integration/`) need ollama's repository; this needs nothing. The rows are named as theirs. MODEL is
a stored model (they have smollm2), which `puna serve` loads when it is asked for. Answers are only checked for being there: what a model of this
size says is not a matter of the server. Prints a row a case, and exits with code 1 if one is not as there but for those of DIFFERS.
"""
import concurrent.futures
import json
import re
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

DIFFERS = {"context-long-input": "a prompt beyond num_ctx is refused with both numbers; it is cut with \"truncate\": true"}
GREEDY = {"temperature": 0, "seed": 123}
SKY = "why is the sky blue? answer in one sentence"


class Server:
    def __init__(self, puna):
        self.process = subprocess.Popen([puna, "serve", "--device", "cpu", "--port", "0"], stderr=subprocess.PIPE, text=True)
        self.base = next(found[1] for line in self.process.stderr if (found := re.search(r"(http://127.0.0.1:\d+)", line)))

    def end(self):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait()

    def ask(self, path, body=None):
        """All objects of the answer."""
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.base + path, data), timeout=300) as reply:
            return [json.loads(line) for line in reply]


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_members(value, names, what):
    for name in names:
        check(value.get(name), f"{what} lacks {name}: {json.dumps(value)[:300]}")


def check_details(details):
    check_members(details, ["format", "family", "parameter_size", "quantization_level"], "details")


def check_answer(lines, text_of, more=()):
    check(lines[-1]["done"], "the last object is not done")
    check_members(lines[-1], ["model", "created_at", "done_reason", "total_duration", "load_duration", "prompt_eval_duration", "eval_count", "eval_duration",
                              *more], "the last object")
    for line in lines:
        check(line["model"], "an object without model")
    check("".join(text_of(line) for line in lines).strip(), "the answer is empty")


def generate(server, model, **more):
    options = {**GREEDY, "num_predict": 24, **more.pop("options", {})}
    return server.ask("/api/generate", {"model": model, "prompt": SKY, "options": options, **more})


def chat(server, model, content=SKY, **more):
    options = {**GREEDY, "num_predict": 24, **more.pop("options", {})}
    return server.ask("/api/chat", {"model": model, "messages": [{"role": "user", "content": content}], "options": options, **more})


def said(line):
    return line["message"]["content"]


def api_generate(server, model):
    for stream in (True, False):
        check_answer(generate(server, model, stream=stream), lambda line: line["response"], ["context"])
    running = [each for each in server.ask("/api/ps")[0]["models"] if model in each["name"]]
    check(running, "the model is not in /api/ps")
    check_members(running[0], ["model", "size", "digest", "expires_at"], "/api/ps")
    check_details(running[0]["details"])


def api_chat(server, model):
    for stream in (True, False):
        check_answer(chat(server, model, stream=stream), said, ["prompt_eval_count"])


def api_list_models(server, model):
    models = server.ask("/api/tags")[0]["models"]
    check(models, "there is no model")
    check_members(models[0], ["name", "modified_at", "size", "digest"], "/api/tags")
    check_details(models[0]["details"])


def api_show_model(server, model):
    shown = server.ask("/api/show", {"name": model})[0]
    check_members(shown, ["license", "modelfile", "template", "model_info", "modified_at"], "/api/show")
    check("parameters" in shown, "/api/show lacks parameters")  # of their model there are some
    check_details(shown["details"])


def check_logprobs(logprobs, most):
    check(logprobs, "there are no logprobs")
    for each in logprobs:
        check(each["token"] and each["logprob"] <= 0, f"a wrong logprob: {each}")
        check(bytes(each["bytes"]).decode(errors="replace") == each["token"] or "\ufffd" in each["token"], f"bytes are not those of the token: {each}")
        top = [row["logprob"] for row in each.get("top_logprobs", [])]
        check(len(top) <= most and bool(top) == bool(most) and top == sorted(top, reverse=True), f"wrong top_logprobs: {each}")


def generate_logprobs(server, model):
    check(not generate(server, model, stream=False, options={"num_predict": 5})[0].get("logprobs"), "logprobs that nobody asked for")
    for top in (0, 3):
        check_logprobs(generate(server, model, stream=False, logprobs=True, top_logprobs=top, options={"num_predict": 5})[0].get("logprobs"), top)


def chat_logprobs(server, model):
    check_logprobs(chat(server, model, stream=False, logprobs=True, top_logprobs=3, options={"num_predict": 5})[0].get("logprobs"), 3)


def blue_sky(server, model):
    lines = server.ask("/api/generate", {"model": model, "prompt": "why is the sky blue?", "options": GREEDY})
    text = "".join(line["response"] for line in lines).lower()
    check("scatter" in text or "rayleigh" in text or "light" in text, f"the answer is about something else: {text[:200]}")


def num_predict(server, model):
    for n in (1, 10):
        last = generate(server, model, options={"num_predict": n})[-1]
        check(last["eval_count"] == n and last["done_reason"] == "length", f"{n} tokens were asked for: {last}")


def embedding(server, model):
    vectors = server.ask("/api/embed", {"model": model, "input": ["why is the sky blue?", "why is the grass green?"]})[0]["embeddings"]
    check(len(vectors) == 2 and abs(sum(x * x for x in vectors[0]) - 1) < 1e-3, "no vectors of length 1")
    check(server.ask("/api/embeddings", {"model": model, "prompt": "why is the sky blue?"})[0]["embedding"], "no vector")


def embed_truncate(server, model):
    long = "why is the sky blue? " * 4000
    check(server.ask("/api/embed", {"model": model, "input": long, "truncate": True})[0]["prompt_eval_count"] > 0, "nothing was read")
    try:
        server.ask("/api/embed", {"model": model, "input": long, "truncate": False})
    except urllib.error.HTTPError as error:
        check(error.code == 400, f"status {error.code}")
        error.close()
        return
    raise AssertionError("what is too long was taken")


def context_long_input(server, model):
    lines = chat(server, model, "The ships of that time carried salt, grain, timber and cloth between the towns of the coast. " * 12, options={"num_ctx": 128})
    check_answer(lines, said)


def context_exhaustion(server, model):
    lines = chat(server, model, "Write me a long story.", options={"num_ctx": 128, "num_predict": -1})
    check_answer(lines, said)


def generate_history(server, model):
    options = {"num_ctx": 16384}
    server.ask("/api/generate", {"model": model, "keep_alive": "10s", "options": options})
    context = None
    for prompt in ["how do rainbows form? be brief", "where can I see one?", "tell me more"]:
        lines = generate(server, model, prompt=prompt, context=context, keep_alive="10s", options=options)
        check_answer(lines, lambda line: line["response"], ["context"])
        check(len(lines[-1]["context"]) > len(context or []), "the context does not grow")
        context = lines[-1]["context"]


def concurrent_chat(server, model):
    server.ask("/api/generate", {"model": model, "keep_alive": "10s"})
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        for lines in pool.map(lambda n: chat(server, model, f"Why is {n} a number?"), range(12)):
            check_answer(lines, said)


CASES = {"api-generate": api_generate, "api-chat": api_chat, "api-list-models": api_list_models, "api-show-model": api_show_model,
         "generate-logprobs": generate_logprobs, "chat-logprobs": chat_logprobs, "blue-sky": blue_sky, "num-predict": num_predict,
         "context-long-input": context_long_input, "context-exhaustion": context_exhaustion, "generate-history": generate_history,
         "concurrent-chat": concurrent_chat}
EMBEDDING_CASES = {"embedding-api": embedding, "embed-api-truncate": embed_truncate}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    puna, model, *embedders = sys.argv[1:]
    cases = [(name, case, model) for name, case in CASES.items()] + [(name, case, each) for each in embedders for name, case in EMBEDDING_CASES.items()]
    server, failed = Server(puna), 0
    try:
        for name, case, asked in cases:
            start = time.monotonic()
            try:
                case(server, asked)
                result = "as there"
            except urllib.error.HTTPError as error:
                result = f"{error.code} {error.read().decode()[:200]}"
            except Exception:
                result = traceback.format_exc().splitlines()[-1]
            if result != "as there":
                failed += name not in DIFFERS
                result = f"{result} [{DIFFERS[name]}]" if name in DIFFERS else f"FAILED: {result}"
            elif name in DIFFERS:
                failed, result = failed + 1, "FAILED: it is as there now; DIFFERS says otherwise"
            print(f"{name:20} {time.monotonic() - start:5.1f} s  {result}", flush=True)
    finally:
        server.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
