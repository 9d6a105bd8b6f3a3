#!/usr/bin/env python3
"""Masks of random JSON schemas, token by token, beside xgrammar and llguidance, with a model's vocabulary.

A text of a schema that all three take is written at random: each next token is one that all allow. At each place a token that is allowed by one
library but not by Puna, or the other way round, is a difference; differences are counted by what the token is and by where it would stand. Tokens
with white space outside of strings are left out: each library has its own rules of it. Schemas are made of keywords that all three keep, and say what
type a value is of, since xgrammar takes what says nothing for an object.

usage: pip install xgrammar==0.2.8 llguidance==1.9.1 jsonschema==4.26.0
       cmake --preset bench && cmake --build --preset bench --target puna_grammar_bench puna_schema_masks
       bench/grammar/compare_masks.py FILE.gguf [SCHEMAS] [SEED] [--examples N] [--minutes N] [--build FOLDER]
"""
import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import llguidance
import numpy
import xgrammar

from compare import ROOT, LLGuidance, XGrammar

MOST_TOKENS = 30
TEXTS_A_SCHEMA = 2


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def some(self, choices, most):
        return {key: choices[key]() for key in self.rng.sample(list(choices), self.rng.randrange(most + 1))}

    def string(self, depth):
        low = self.rng.randrange(4)
        kind = self.rng.randrange(4)
        if kind == 0:
            return {"type": "string", "pattern": self.rng.choice(["^[a-z]+$", "^a{2,5}b?$", "^(ab|cd)*$", "^[0-9]{3}-[0-9]{4}$"])}
        if kind == 1:
            return {"enum": self.rng.sample(["red", "green", "blue", "a b", "\u00e9t\u00e9", "red and green"], self.rng.randrange(1, 5))}
        return {"type": "string", **self.some({"minLength": lambda: low, "maxLength": lambda: low + self.rng.randrange(30)}, 2)}

    def number(self, depth):
        low = self.rng.randrange(-20, 100)
        choices = {"minimum": lambda: low, "maximum": lambda: low + self.rng.randrange(1, 200)}
        return {"type": "integer", **self.some(choices, 2)} if self.rng.random() < 0.7 else {"type": "number"}

    def plain(self, depth):
        return self.rng.choice([{"type": "boolean"}, {"type": "null"}, {"const": 5}, {"const": "x"}, {"enum": [1, "a", None, True]}])

    def object(self, depth):
        names = self.rng.sample(["name", "age", "tags", "a", "id", "first name"], self.rng.randrange(1, 5))
        out = {"type": "object", "properties": {name: self.schema(depth - 1) for name in names}, "additionalProperties": False}
        if self.rng.random() < 0.2:
            out["additionalProperties"] = self.schema(0)
        out["required"] = [name for name in names if self.rng.random() < 0.6]
        return out

    def array(self, depth):
        low = self.rng.randrange(3)
        return {"type": "array", "items": self.schema(depth - 1), **self.some({"minItems": lambda: low, "maxItems": lambda: low + self.rng.randrange(1, 4)}, 2)}

    def any_of(self, depth):
        return {"anyOf": [self.schema(depth - 1) for _ in range(self.rng.randrange(2, 4))]}

    def schema(self, depth):
        kinds = [self.string, self.string, self.number, self.plain]
        if depth > 0:
            kinds += [self.object, self.object, self.array, self.any_of]
        return self.rng.choice(kinds)(depth)

    def document(self):
        out = self.object(3)
        if self.rng.random() < 0.2:
            out["$defs"] = {"node": {"type": "object", "properties": {"v": self.schema(0), "next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}}
            out["properties"]["tree"] = {"$ref": "#/$defs/node"}
        return out


class Bits:
    """A mask of some library as an array of booleans."""

    def __init__(self, n_tokens):
        self.n_tokens = n_tokens

    def of(self, data):
        return numpy.unpackbits(numpy.frombuffer(data, dtype=numpy.uint8), bitorder="little")[: self.n_tokens].astype(bool)


class Puna:
    name = "puna"

    def __init__(self, program, tokens_file, bits):
        self.process = subprocess.Popen([program, tokens_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.bits = bits

    def ask(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        self.known = self.bits.of(bytes.fromhex(answer["mask"]))

    def begin(self, schema):
        self.ask({"schema": schema})

    def mask(self):
        return self.known

    def take(self, token):
        self.ask({"take": token})


class OfXGrammar(XGrammar):
    def __init__(self, tokens, end, bits):
        super().__init__(tokens, end)
        self.to_bits = bits

    def begin(self, schema):
        compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        grammar = compiler.compile_json_schema(json.dumps(schema), strict_mode=False)
        self.matcher = xgrammar.GrammarMatcher(grammar)

    def mask(self):
        self.matcher.fill_next_token_bitmask(self.bits)
        return self.to_bits.of(self.bits.numpy().tobytes())

    def take(self, token):
        if not self.matcher.accept_token(token):
            raise ValueError("refuses a token of its own mask")


class OfLLGuidance(LLGuidance):
    def __init__(self, tokens, end, bits):
        super().__init__(tokens, end)
        self.to_bits = bits

    def begin(self, schema):
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
        self.matcher = llguidance.LLMatcher(self.tokenizer, grammar)
        if self.matcher.is_error():
            raise ValueError(self.matcher.get_error().splitlines()[0])

    def mask(self):
        self.matcher.unsafe_compute_mask_ptr(self.bits.ctypes.data, self.bits.nbytes)
        return self.to_bits.of(self.bits.tobytes())

    def take(self, token):
        if not self.matcher.consume_token(token):
            raise ValueError("refuses a token of its own mask")


class Place:
    """Where a text is, as far as a reader of JSON knows it: inside of a string, or what came last."""

    def __init__(self):
        self.text = b""

    def in_string(self):
        inside = escaped = False
        for byte in self.text:
            if escaped:
                escaped = False
            elif inside and byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = not inside
        return inside

    def name(self):
        if self.in_string():
            return "in an escape" if self.text[-1:] == b"\\" or b"\\u" in self.text[-5:] else "in a string"
        last = self.text[-1:]
        if not last:
            return "at the start"
        if last.isdigit() or last in b"-.eE+":
            return "in a number"
        return f"behind {last.decode('utf-8', 'replace')}"


def white_outside(place, text):
    """Whether a token has white space outside of strings."""
    inside, escaped = place.in_string(), False
    for byte in text:
        if not inside and byte in b" \n\t\r":
            return True
        if escaped:
            escaped = False
        elif inside and byte == 0x5C:
            escaped = True
        elif byte == 0x22:
            inside = not inside
    return False


def kind_of(text):
    if not text:
        return "the end"
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return "a part of a character"
    for name, part in (("an escape", b"\\"), ("a quote", b'"'), ("a control character", None), ("0x7F", b"\x7f")):
        if part is None and any(byte < 0x20 for byte in text) or part is not None and part in text:
            return name
    if any(byte in b"{}[],:" for byte in text):
        return "a bracket, comma or colon"
    if any(byte in b"eE" for byte in text) and any(byte in b"0123456789+-." for byte in text):
        return "an exponent"
    if any(byte in b"0123456789.-+" for byte in text):
        return "digits"
    return "letters and the like"


def write(schema, sides, tokens, rng, seen, examples, limit):
    """Writes one text; counts differences."""
    for side in sides:
        side.begin(schema)
    place = Place()
    puna, others = sides[0], sides[1:]
    for _ in range(MOST_TOKENS):
        ours = puna.mask()
        common = ours.copy()
        for other in others:
            theirs = other.mask()
            seen["masks"] += 1
            different = False
            for token in numpy.flatnonzero(ours != theirs):
                if white_outside(place, tokens[token]):
                    continue
                different = True
                whose = "Puna only" if ours[token] else f"{other.name} only"
                key = (other.name, whose, place.name(), kind_of(tokens[token]))
                seen[key] += 1
                if len(examples[key]) < limit and not any(known[0] == json.dumps(schema) for known in examples[key]):
                    examples[key].append((json.dumps(schema), place.text, tokens[token]))
            seen["masks that differ"] += different
            common &= theirs
        allowed = [token for token in numpy.flatnonzero(common) if tokens[token] and not white_outside(place, tokens[token])]
        if not allowed:
            return
        # Short tokens, and those that close something, keep texts short.
        closing = [token for token in allowed if tokens[token] in (b'"', b"}", b"]", b"}}", b'"}', b'":', b'",')]
        token = int(rng.choice(closing if closing and rng.random() < 0.5 else allowed))
        for side in sides:
            side.take(token)
        place.text += tokens[token]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("schemas", nargs="?", type=int, default=300)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--examples", type=int, default=0, help="of each kind of difference")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no other schema is begun")
    parser.add_argument("--build", default=ROOT / "build" / "bench", type=Path)
    args = parser.parse_args()
    programs = args.build / "src" / "grammar"
    with tempfile.TemporaryDirectory() as folder:
        none, tokens_file = Path(folder) / "none.json", Path(folder) / "tokens.json"
        none.write_text("[]")
        subprocess.run([programs / "puna_grammar_bench", args.model, none, tokens_file], check=True, stdout=subprocess.DEVNULL)
        known = json.loads(tokens_file.read_text())
        tokens = [bytes.fromhex(text) for text in known["tokens"]]
        bits = Bits(len(tokens))
        puna = Puna(programs / "puna_schema_masks", tokens_file, bits)
        others = [OfXGrammar(tokens, known["end"], bits), OfLLGuidance(tokens, known["end"], bits)]
        rng = random.Random(args.seed)
        seen, refused, examples = collections.Counter(), collections.Counter(), collections.defaultdict(list)
        end = time.monotonic() + 60 * args.minutes
        while seen["schemas"] < args.schemas and time.monotonic() < end:
            schema = Maker(rng).document()
            seen["schemas made"] += 1
            takers = []
            for side in [puna, *others]:
                try:
                    side.begin(schema)
                    takers.append(side)
                except Exception:  # whatever a library throws says that it does not take the schema
                    refused[side.name] += 1
            if len(takers) < 3:
                continue
            seen["schemas"] += 1
            for _ in range(TEXTS_A_SCHEMA):
                try:
                    write(schema, takers, tokens, rng, seen, examples, args.examples)
                except ValueError as error:
                    seen[str(error)] += 1
    report(seen, refused, examples)


def report(seen, refused, examples):
    print(", ".join(f"{what}: {n}" for what, n in seen.items() if isinstance(what, str)))
    print("not taken: " + ", ".join(f"{name} {n}" for name, n in refused.items()))
    for key, n in sorted(((key, n) for key, n in seen.items() if isinstance(key, tuple)), key=lambda each: (each[0][0], -each[1])):
        print(f"{key[0]:11} {key[1]:16} {key[2]:14} {key[3]:26} {n}")
        for schema, text, token in examples[key]:
            print(f"    {text!r} + {token!r}  {schema[:300]}")


if __name__ == "__main__":
    sys.exit(main())
