#!/usr/bin/env python3
"""Calls of tools at temperature 2, in the way of every family: each has to parse and to fit the schema of its tool.

usage: pip install jsonschema==4.26.0
       bench/grammar/tool_calls.py PUNA MODEL... [--count 200] [--families NAME,...] [--clients 1]

Serves each MODEL with a template that has the signs of a family (src/chat/parsers.cpp) and asks COUNT times for a call of one of three tools, with all
tokens that the mask leaves as likely as the model has them at temperature 2. The model need not be of the family: what it writes is what the mask makes
of it. The template shows the model the names of the tools only, as a tiny model's context has no room for more. Prints a row a family: calls that fit, calls that do not, answers without a call, answers that were cut off by their length, time a token. Exit code
1 if a call does not fit, or if an answer that was not cut off has none.
"""
import argparse
import concurrent.futures
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import jsonschema

SIGNS = {
    "gpt-oss": "<|channel|> <|message|>",
    "gemma4": "<|tool_call>",
    "deepseek": "<｜tool▁calls▁begin｜>",
    "mistral": "[TOOL_CALLS]",
    "lfm2": "<|tool_call_start|>",
    "qwen-xml": "<function= <parameter=",
    "olmo3": "<function_calls>",
    "granite": "<|start_of_role|> <|tool_call|>",
    "hermes": "<tool_call>",
    "phi4": "<|tool|>",
    "llama3": '<|start_header_id|> "parameters"',
}
TEMPLATE = """{{# {} #}}{{% if enable_thinking %}}Think. {{% endif %}}{{% for t in tools or [] %}}{{{{ t.function.name }}}} {{% endfor %}}{{% for m in messages %}}{{{{ m.content }}}}
{{% endfor %}}"""
TOOLS = {
    "get_weather": {"type": "object", "required": ["city"], "additionalProperties": False, "properties": {
        "city": {"type": "string", "maxLength": 24}, "days": {"type": "integer", "minimum": 1, "maximum": 31},
        "unit": {"enum": ["celsius", "fahrenheit"]}}},
    "now": {"type": "object", "properties": {}, "additionalProperties": False},
    "set_lamp": {"type": "object", "required": ["on"], "additionalProperties": False, "properties": {
        "on": {"type": "boolean"}, "level": {"type": "number"}, "note": {"type": ["string", "null"], "maxLength": 12},
        "rooms": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 8}},
        "scene": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": ["integer", "boolean"]}}}},
}


class Server:
    def __init__(self, puna, model, template, clients):
        self.process = subprocess.Popen([puna, "serve", "--model", model, "--port", "0", "--device", "cpu", "--parallel", str(clients),
                                         "--chat-template-file", template], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if served := re.search(r"served on (http://\S+)", line):
                self.url = served.group(1)
                return
        raise RuntimeError("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def ask(self, body):
        request = urllib.request.Request(self.url + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            sys.exit(f"error: {error.code}: {error.read().decode()}")


def run(server, count, clients):
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]
    n = {"fit": 0, "wrong": 0, "none": 0, "cut": 0}
    tokens, start = 0, time.monotonic()

    def ask(seed):
        return server.ask({"messages": [{"role": "user", "content": "Call a tool."}], "tools": tools, "tool_choice": "required",
                           "parallel_tool_calls": False, "temperature": 2, "top_k": 0, "top_p": 1, "min_p": 0, "seed": seed, "max_tokens": 300, "chat_template_kwargs": {"enable_thinking": False}})

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(ask, range(count)))
    for answer in answers:
        tokens += answer["usage"]["completion_tokens"]
        choice = answer["choices"][0]
        calls = choice["message"].get("tool_calls") or []
        if choice["finish_reason"] == "length":
            n["cut"] += 1
        elif not calls:
            n["none"] += 1
            print("none:", json.dumps(choice, ensure_ascii=False))
        for call in calls:
            name, text = call["function"]["name"], call["function"]["arguments"]
            try:
                jsonschema.validate(json.loads(text), TOOLS[name])
                n["fit"] += 1
            except (KeyError, ValueError, jsonschema.ValidationError) as error:
                n["wrong"] += 1
                print("wrong:", name, text, str(error).split("\n")[0])
    return n, tokens, (time.monotonic() - start) * 1000 / max(tokens, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("puna")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--families", default=",".join(SIGNS))
    parser.add_argument("--clients", type=int, default=1)
    args = parser.parse_args()
    print(f"{args.count} answers of each family, temperature 2")
    print(f"{'model':20} {'family':10} {'fit':>5} {'wrong':>5} {'none':>5} {'cut':>5} {'tokens':>7} {'ms/token':>8}")
    failed = False
    for model in args.models:
        for family in args.families.split(","):
            with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
                template.write(TEMPLATE.format(SIGNS[family]))
                template.flush()
                with Server(args.puna, model, template.name, args.clients) as server:
                    n, tokens, ms = run(server, args.count, args.clients)
            failed |= n["wrong"] > 0 or n["none"] > 0
            print(f"{Path(model).stem[:20]:20} {family:10} {n['fit']:5} {n['wrong']:5} {n['none']:5} {n['cut']:5} {tokens:7} {ms:8.2f}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
