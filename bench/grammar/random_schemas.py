#!/usr/bin/env python3
"""Random schemas and values: what Puna's grammars accept against what `jsonschema` calls valid.

usage: pip install jsonschema==4.26.0
       cmake --build --preset release --target puna_schema_cases
       bench/grammar/random_schemas.py [COUNT] [SEED]      (2,000 schemas of seed 1)

Each schema is put together at random of all keywords that are kept, and tried with values that are like it. A value may be written with its properties
in any order; one has to be accepted if the value is valid, and none otherwise. A schema that Puna refuses is counted by what the error says; one that
it says no value fulfils has to have no valid value here. Texts that the grammar leads to at random have to be valid too. Prints each difference; exit
code 1 if there is any.
"""
import collections
import json
import random
import re
import sys
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parent))
import suite  # noqa: E402

NAMES = ["a", "b", "c", "ab"]
TEXTS = ["", "a", "b", "ab", "ba", "aab", "é", "x\ny", "2024-02-29", "2023-02-29"]
NUMBERS = [0, 1, 2, 3, 5, 10, -1, -4, 0.5, 1.5, 2.25, -0.5, 12]
PATTERNS = ["^a", "b$", "a", "^.$", "^[ab]*$", "^a?b?$"]
VALUES_A_SCHEMA = 25
SAMPLES_A_SCHEMA = 5


def value(rng, depth=2):
    kind = rng.randrange(8 if depth > 0 else 5)
    if kind < 2:
        return rng.choice(NUMBERS)
    if kind < 4:
        return rng.choice(TEXTS)
    if kind == 4:
        return rng.choice([None, True, False])
    if kind == 5:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {name: value(rng, depth - 1) for name in rng.sample(NAMES, rng.randrange(4))}


def count(rng):
    return rng.randrange(4)


class Maker:
    """Each method adds some keywords of one kind to a schema."""

    def __init__(self, rng):
        self.rng = rng

    def type(self, depth):
        types = ["null", "boolean", "integer", "number", "string", "array", "object"]
        if self.rng.random() < 0.7:
            return {"type": self.rng.choice(types)}
        return {"type": self.rng.sample(types, self.rng.randrange(1, 4))}

    def listed(self, depth):
        if self.rng.random() < 0.3:
            return {"const": value(self.rng)}
        return {"enum": [value(self.rng) for _ in range(self.rng.randrange(1, 5))]}

    def numbers(self, depth):
        low, high = sorted(self.rng.sample(NUMBERS, 2))
        choices = {"minimum": low, "maximum": high, "exclusiveMinimum": low, "exclusiveMaximum": high, "multipleOf": self.rng.choice([1, 2, 3, 0.5, 0.25, 5])}
        return {key: choices[key] for key in self.rng.sample(list(choices), self.rng.randrange(1, 3))}

    def strings(self, depth):
        low = count(self.rng)
        choices = {"minLength": low, "maxLength": low + count(self.rng), "pattern": self.rng.choice(PATTERNS), "format": "date"}
        return {key: choices[key] for key in self.rng.sample(list(choices), self.rng.randrange(1, 3))}

    def objects(self, depth):
        rng = self.rng
        low = count(rng)
        choices = {
            "properties": lambda: {name: self.schema(depth - 1) for name in rng.sample(NAMES, rng.randrange(1, 4))},
            "required": lambda: rng.sample(NAMES, rng.randrange(1, 3)),
            "additionalProperties": lambda: self.schema(depth - 1),
            "patternProperties": lambda: {rng.choice(PATTERNS): self.schema(depth - 1) for _ in range(rng.randrange(1, 3))},
            "propertyNames": lambda: self.strings(depth),
            "minProperties": lambda: low,
            "maxProperties": lambda: low + count(rng),
            "dependentRequired": lambda: {rng.choice(NAMES): rng.sample(NAMES, rng.randrange(1, 3))},
            "dependentSchemas": lambda: {rng.choice(NAMES): self.schema(depth - 1)},
            "unevaluatedProperties": lambda: self.schema(0),
        }
        return {key: choices[key]() for key in rng.sample(list(choices), rng.randrange(1, 4))}

    def arrays(self, depth):
        rng = self.rng
        low = count(rng)
        choices = {
            "items": lambda: self.schema(depth - 1),
            "prefixItems": lambda: [self.schema(depth - 1) for _ in range(rng.randrange(1, 3))],
            "minItems": lambda: low,
            "maxItems": lambda: low + count(rng),
            "contains": lambda: self.schema(depth - 1),
            "minContains": lambda: count(rng),
            "maxContains": lambda: 3 + count(rng),
        }
        return {key: choices[key]() for key in rng.sample(list(choices), rng.randrange(1, 4))}

    def logic(self, depth):
        rng = self.rng
        some = lambda: [self.schema(depth - 1) for _ in range(rng.randrange(1, 4))]  # noqa: E731
        choices = {
            "allOf": lambda: {"allOf": some()},
            "anyOf": lambda: {"anyOf": some()},
            "oneOf": lambda: {"oneOf": some()},
            "not": lambda: {"not": self.schema(depth - 1)},
            "if": lambda: {"if": self.schema(depth - 1), "then": self.schema(depth - 1), "else": self.schema(depth - 1)},
            "$ref": lambda: {"$ref": rng.choice(["#/$defs/x", "#/$defs/y"])},
        }
        return choices[rng.choice(list(choices))]()

    def schema(self, depth):
        if self.rng.random() < 0.08:
            return self.rng.random() < 0.6
        kinds = [self.type, self.listed, self.numbers, self.strings]
        if depth > 0:
            kinds += [self.objects, self.objects, self.arrays, self.logic]
        out = {}
        for kind in self.rng.sample(kinds, self.rng.randrange(1, 4)):
            out.update(kind(depth))
        return out

    def document(self):
        out = self.schema(3)
        if not isinstance(out, dict):
            return out
        # Values that have nothing to say of the root are too many for schemas of the same name to meet.
        out["$defs"] = {"x": self.schema(1), "y": {"type": "object", "properties": {"a": {"$ref": "#/$defs/y"}, "b": self.schema(1)}}}
        return out


def main():
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    puna = suite.Puna()
    seen = collections.Counter()
    refused = collections.Counter()
    differences = 0
    for _ in range(total):
        schema = Maker(rng).document()
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        values = [value(rng) for _ in range(VALUES_A_SCHEMA)]
        try:
            tests = [("", each, validator.is_valid(each)) for each in values]
        except RecursionError:
            seen["without an end"] += 1
            continue
        try:
            outcome = suite.judge(puna, schema, tests)
        except ValueError as error:
            message = str(error)
            if "No text at all" in message and any(valid for _, _, valid in tests):
                print(f"{json.dumps(schema)}\n    no value is said to fulfil it, but {json.dumps([v for _, v, valid in tests if valid][0])} does")
                differences += 1
            refused[re.sub(r"^#[^:]*: |\d+", "", message)[:90]] += 1
            continue
        answer = puna.ask(schema, [], SAMPLES_A_SCHEMA)
        if "dead_end" in answer:
            print(f"{json.dumps(schema)}\n    dead end: {answer['dead_end']}")
            differences += 1
        for sample in answer["samples"]:
            # Names may repeat among properties that the schema does not name; what is meant then depends on the reader.
            repeated = []
            instance = json.loads(sample, object_pairs_hook=lambda pairs: repeated.append(len(dict(pairs)) < len(pairs)) or dict(pairs))
            if any(repeated):
                seen["samples that repeat a name"] += 1
                continue
            valid = validator.is_valid(instance)
            seen["samples"] += 1
            if not valid:
                print(f"{json.dumps(schema)}\n    not valid, but led to: {sample}")
                differences += 1
        for (_, instance, valid), result in zip(tests, outcome):
            seen[f"{'valid' if valid else 'invalid'}, {'as expected' if result == 'right' else 'not as expected'}"] += 1
            if result != "right":
                print(f"{json.dumps(schema)}\n    {result}: {json.dumps(instance)}")
                differences += 1
    print(", ".join(f"{what}: {n}" for what, n in sorted(seen.items())))
    for what, n in refused.most_common():
        print(f"refused {n}: {what}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
