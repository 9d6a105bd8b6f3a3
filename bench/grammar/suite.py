#!/usr/bin/env python3
"""The JSON-Schema-Test-Suite against Puna's grammars of JSON schemas, beside xgrammar and llguidance in one run.

For each schema that a library takes, valid instances have to be accepted byte by byte and others refused. An instance may be written in several
ways: a library has to accept one order of its properties (written compact, spaced and indented alike), and has to refuse all of them where it is
invalid. Schemas that a library refuses are counted by the keyword its error names.

usage: pip download --no-binary :all: --no-deps jsonschema==4.26.0 && tar xf jsonschema-4.26.0.tar.gz
       pip install xgrammar==0.2.8 llguidance==1.9.1          (left out of the table where they are not there)
       cmake --build --preset release --target puna_schema_cases
       bench/grammar/suite.py jsonschema-4.26.0/json/tests [--json OUT] [--show puna] [--only puna]

Left out are format.json, which says that formats only annotate, while all three libraries follow them, and LEFT_OUT: what contents and formats mean
that no regular expression tells. A schema that no value fulfils is refused rightly. Exit code 1 where Puna accepts what is invalid or refuses what is
valid, beside the formats of which it makes a part only.
"""
import argparse
import collections
import decimal
import itertools
import json
import multiprocessing
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = ROOT / "build" / "release" / "src" / "grammar" / "puna_schema_cases"
DRAFTS = ["draft2020-12", "draft7"]
LEFT_OUT = ["format.json", "optional/content.json", "optional/format/ecmascript-regex.json", "optional/format/idn-email.json",
            "optional/format/idn-hostname.json", "optional/format/regex.json"]
NOTHING = re.compile("No text at all|[Uu]nsatisfiable")
MOST_ORDERS = 200
STYLES = [{"separators": (",", ":")}, {"separators": (", ", ": ")}, {"indent": 2}]
SECONDS = 20  # for one schema with its tests


def plain_number(value):
    """A number without an exponent, and without a fraction where it is whole: the way in which all three write it."""
    if isinstance(value, bool) or isinstance(value, int):
        return value
    if value == int(value):
        return int(value)
    return value


def orders(value):
    """The value with the properties of its objects in each order."""
    if isinstance(value, dict):
        keys = itertools.permutations(value) if len(value) <= 5 else [tuple(value), tuple(sorted(value))]
        for order in keys:
            for inner in itertools.product(*(list(orders(value[key])) for key in order)):
                yield dict(zip(order, inner))
    elif isinstance(value, list):
        for inner in itertools.product(*(list(orders(item)) for item in value)):
            yield list(inner)
    else:
        yield plain_number(value) if isinstance(value, float) else value


def texts_of(instance):
    """Lists of texts; those of one list are one order of properties in several styles."""
    out = []
    for order in itertools.islice(orders(instance), MOST_ORDERS):
        texts = [json.dumps(order, ensure_ascii=False, **style) for style in STYLES]
        if re.search(r"\d[eE][-+]?\d", texts[0]):
            plain = [re.sub(r"-?\d+(\.\d+)?[eE][-+]?\d+", lambda m: format(decimal.Decimal(m.group()), "f"), text) for text in texts]
            out.append(plain)
        out.append(texts)
    return out


def read_suite(folder):
    """(place, schema, [(name, instance, valid)]) of all drafts."""
    for draft in DRAFTS:
        for path in sorted((folder / draft).rglob("*.json")):
            if path.relative_to(folder / draft).as_posix() in LEFT_OUT:
                continue
            for group in json.loads(path.read_text(encoding="utf-8")):
                tests = [(test["description"], test["data"], test["valid"]) for test in group["tests"]]
                schema = group["schema"]
                if draft == "draft7" and isinstance(schema, dict) and "$schema" not in schema:
                    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
                yield f"{path.relative_to(folder)}: {group['description']}", schema, tests


class Puna:
    name = "puna"

    def __init__(self):
        self.process = subprocess.Popen([CASES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, schema, texts, samples=0):
        self.process.stdin.write(json.dumps({"schema": schema, "texts": texts, "samples": samples}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def accepts(self, schema, texts):
        return self.ask(schema, texts)["accepts"]


class XGrammar:
    name = "xgrammar"

    def __init__(self):
        import xgrammar
        from xgrammar.testing import _is_grammar_accept_string

        self.grammar = xgrammar.Grammar
        self.accept = _is_grammar_accept_string

    def accepts(self, schema, texts):
        grammar = self.grammar.from_json_schema(json.dumps(schema), any_whitespace=True, strict_mode=False)
        return [self.accept(grammar, text) for text in texts]


class LlGuidance:
    name = "llguidance"

    def __init__(self):
        import llguidance

        self.matcher = llguidance.LLMatcher
        self.tokenizer = llguidance.LLTokenizer("byte")

    def accepts(self, schema, texts):
        grammar = self.matcher.grammar_from_json_schema(json.dumps(schema))
        out = []
        first = self.matcher(self.tokenizer, grammar, log_level=0)
        if first.get_error():
            raise ValueError(first.get_error())
        for text in texts:
            matcher = first.deep_copy()
            tokens = list(text.encode("utf-8"))
            out.append(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())
        return out


def judge(library, schema, tests):
    """For each test "right", "invalid accepted" or "valid refused"."""
    lists = [texts_of(instance) for _, instance, _ in tests]
    flat = [text for ways in lists for way in ways for text in way]
    answers = iter(library.accepts(schema, flat))
    out = []
    for (_, _, valid), ways in zip(tests, lists):
        took = [[next(answers) for _ in way] for way in ways]
        if valid:
            out.append("right" if any(all(way) for way in took) else "valid refused")
        else:
            out.append("invalid accepted" if any(any(way) for way in took) else "right")
    return out


def serve(kind, connection):
    library = kind()
    while True:
        schema, tests = connection.recv()
        try:
            connection.send(judge(library, schema, tests))
        except Exception as error:  # what a library raises is its answer
            connection.send(f"refused: {error}")


class Worker:
    """A library in a process of its own, since some schemas take it minutes or end it."""

    def __init__(self, kind):
        self.kind = kind
        self.start()

    def start(self):
        self.connection, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(self.kind, other), daemon=True)
        self.process.start()
        other.close()

    def judge(self, schema, tests):
        self.connection.send((schema, tests))
        try:
            if self.connection.poll(SECONDS):
                return self.connection.recv()
            answer = "refused: no answer in time"
        except EOFError:
            answer = "refused: the process ended"
        self.process.kill()
        self.start()
        return answer


def keyword_of(error):
    """What an error names: the last name in quotes, or its first words."""
    error = re.sub(r"\[[\d:]+\] \S+ ", "", error)
    quoted = re.findall(r'"([$A-Za-z]+)"', error)
    return quoted[0] if quoted else " ".join(error.split()[1:6])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="all results")
    parser.add_argument("--only", help="one library")
    parser.add_argument("--show", default="puna", help="whose mistakes and refusals are listed")
    args = parser.parse_args()
    workers = {}
    for kind in (Puna, XGrammar, LlGuidance):
        if args.only in (None, kind.name):
            workers[kind.name] = Worker(kind)
    counts = {name: collections.Counter() for name in workers}
    refused = {name: collections.Counter() for name in workers}
    results = []
    for place, schema, tests in read_suite(args.folder):
        for name, worker in workers.items():
            answer = worker.judge(schema, tests)
            if isinstance(answer, str) and NOTHING.search(answer) and not any(valid for _, _, valid in tests):
                answer = ["right"] * len(tests)
            if isinstance(answer, str):
                counts[name]["refused"] += len(tests)
                counts[name]["schemas refused"] += 1
                refused[name][keyword_of(answer)] += 1
                if name == args.show:
                    print(f"{place}\n    {answer}")
                results.append({"library": name, "place": place, "refused": answer})
                continue
            for (test, instance, valid), outcome in zip(tests, answer):
                counts[name][outcome] += 1
                if outcome != "right":
                    results.append({"library": name, "place": place, "test": test, "outcome": outcome})
                    if name == args.show:
                        print(f"{place}: {test}\n    {outcome}: {json.dumps(instance)[:100]} of {json.dumps(schema)[:300]}")
    print()
    print(f"{'':12}{'right':>8}{'invalid accepted':>18}{'valid refused':>15}{'refused':>9}{'schemas refused':>17}")
    for name, count in counts.items():
        print(f"{name:12}{count['right']:>8}{count['invalid accepted']:>18}{count['valid refused']:>15}{count['refused']:>9}{count['schemas refused']:>17}")
    for name, names in refused.items():
        print(f"{name} refuses by: " + ", ".join(f"{what} {n}" for what, n in names.most_common(20)))
    if args.json:
        args.json.write_text(json.dumps({"counts": counts, "refused": refused, "results": results}, indent=1) + "\n")
    puna = counts.get("puna", {})
    return 1 if puna and (puna["invalid accepted"] or puna["valid refused"]) else 0


if __name__ == "__main__":
    sys.exit(main())
