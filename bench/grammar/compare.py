#!/usr/bin/env python3
"""What grammars cost Puna beside xgrammar and llguidance, in one run, on one thread, by CPU time.

usage: pip install xgrammar==0.2.8 llguidance==1.9.1          (left out of the table where they are not there)
       cmake --preset bench && cmake --build --preset bench --target puna_grammar_bench
       bench/grammar/compare.py FILE.gguf... [--grammars FOLDER] [--json OUT] [--only NAME]

For each model's vocabulary: milliseconds to compile (for Puna with the masks that are made ahead, the second number), then microseconds a mask:
median, p99 and most, from the first text on. --grammars: the folder grammars/ of llama.cpp, whose files are cases then. A library takes a case as
JSON schema, GBNF or regular expression. `refused`: texts that fit, but were not let pass.
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import cases as table

ROOT = Path(__file__).resolve().parent.parent.parent
BENCH = ROOT / "build" / "bench" / "src" / "grammar" / "puna_grammar_bench"
try:
    import xgrammar
except ImportError:
    xgrammar = None
try:
    import llguidance
    import numpy
except ImportError:
    llguidance = None


def now_us():
    return time.thread_time_ns() / 1e3


def figures(us):
    us = sorted(us)
    at = lambda part: us[min(len(us) - 1, int(part * len(us)))]
    return {"median": at(0.5), "p99": at(0.99), "most": us[-1]}


class XGrammar:
    name = "xgrammar"

    def __init__(self, tokens, end):
        start = now_us()
        self.info = xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=end)
        self.vocabulary_ms = (now_us() - start) / 1e3
        self.bits = xgrammar.allocate_token_bitmask(1, len(tokens))

    def compile(self, row):
        compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        if "schema" in row:
            return compiler.compile_json_schema(json.dumps(row["schema"]))
        if "gbnf" in row:
            return compiler.compile_grammar(row["gbnf"])
        return compiler.compile_regex(row["regex"])

    def walk(self, grammar, ids, us):
        matcher = xgrammar.GrammarMatcher(grammar)
        for token in ids:
            start = now_us()
            matcher.fill_next_token_bitmask(self.bits)
            us.append(now_us() - start)
            if not matcher.accept_token(token):
                return False
        return True


class LLGuidance:
    name = "llguidance"

    def __init__(self, tokens, end):
        class Wrapped:
            eos_token_id, bos_token_id = end[0], None
            special_token_ids = [i for i, text in enumerate(tokens) if not text]

            def __init__(self):
                self.tokens = [text or b"<special_%d>" % i for i, text in enumerate(tokens)]
                self.ids = {text: i for i, text in enumerate(tokens) if text}
                self.longest = max(map(len, self.ids))

            def __call__(self, text):
                """By the longest token: what is forced is cut into tokens, and its masks are wrong without any."""
                text = text.encode() if isinstance(text, str) else text
                out, at = [], 0
                while at < len(text):
                    n = next(n for n in range(self.longest, 0, -1) if text[at : at + n] in self.ids)
                    out.append(self.ids[text[at : at + n]])
                    at += n
                return out

        start = now_us()
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Wrapped()), n_vocab=len(tokens))
        self.vocabulary_ms = (now_us() - start) / 1e3
        self.bits = numpy.zeros((len(tokens) + 31) // 32, dtype=numpy.int32)

    def compile(self, row):
        if "schema" in row:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(row["schema"]))
        elif "regex" in row:
            grammar = llguidance.LLMatcher.grammar_from_regex(row["regex"])
        else:
            raise ValueError("takes no GBNF")
        matcher = llguidance.LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error().splitlines()[0])
        return matcher

    def walk(self, matcher, ids, us):
        matcher = matcher.deep_copy()
        for token in ids:
            start = now_us()
            matcher.unsafe_compute_mask_ptr(self.bits.ctypes.data, self.bits.nbytes)
            us.append(now_us() - start)
            if not matcher.consume_token(token):
                return False
        return not matcher.is_error()


def measure(library, row, texts):
    start = now_us()
    try:
        grammar = library.compile(row)
    except Exception as error:  # whatever the library throws is what its row says
        return {"error": str(error).splitlines()[0][:60]}
    out = {"compile_ms": (now_us() - start) / 1e3}
    us = []
    out["refused"] = sum(not library.walk(grammar, ids, us) for ids in texts)
    out["first"] = figures(us)
    return out


def cell(result):
    if "error" in result:
        return result["error"]
    first = result["first"]
    ahead = f" + {result['warm_ms']:.1f}" if "warm_ms" in result else ""
    refused = f" refused {result['refused']}" if result["refused"] else ""
    return f"{result['compile_ms']:.1f}{ahead} ms; {first['median']:.1f}, {first['p99']:.0f}, {first['most']:.0f}{refused}"


def run(model, rows, libraries, folder):
    inputs, tokens_file = Path(folder) / "cases.json", Path(folder) / "tokens.json"
    inputs.write_text(table.for_puna(rows))
    ours = json.loads(subprocess.run([BENCH, model, inputs, tokens_file], check=True, stdout=subprocess.PIPE).stdout)
    known = json.loads(tokens_file.read_text())
    tokens = [bytes.fromhex(text) for text in known["tokens"]]
    sides = [library(tokens, known["end"]) for library in libraries]
    print(f"\n{Path(model).name}: {len(tokens)} tokens, vocabulary {ours['vocabulary_ms']:.0f} ms"
          + "".join(f", {side.name} {side.vocabulary_ms:.0f} ms" for side in sides))
    for row, result in zip(rows, ours["cases"]):
        result["others"] = {side.name: measure(side, row, known["cases"][row["name"]])
                            for side in sides if side.name not in row.get("left_out", [])}
        print(f"{row['name']:22} {cell(result):38} " + " | ".join(f"{name}: {cell(of)}" for name, of in result["others"].items()), flush=True)
    return {"model": Path(model).name, **ours, **{f"{side.name}_vocabulary_ms": side.vocabulary_ms for side in sides}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--grammars")
    parser.add_argument("--json")
    parser.add_argument("--only", help="cases whose names hold this")
    args = parser.parse_args()
    rows = [row for row in table.cases(args.grammars) if not args.only or args.only in row["name"]]
    libraries = [XGrammar] * (xgrammar is not None) + [LLGuidance] * (llguidance is not None)
    with tempfile.TemporaryDirectory() as folder:
        results = [run(model, rows, libraries, folder) for model in args.models]
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
