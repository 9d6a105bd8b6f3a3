"""The cases of compare.py: what every library is asked for, as it is written for each."""
import json
from pathlib import Path

TEXTS = [
    '{"name": "Ada Lovelace", "age": 36, "city": "London"}',
    '{"name":"Bob","age":7,"city":"Oslo"}',
    '{"name": "Zo\u00eb \\n \\"x\\"", "age": 120, "city": "\u6771\u4eac"}',
]


def person(max_length):
    """An object of two strings and a number."""
    bound = {} if max_length is None else {"maxLength": max_length}
    string = {"type": "string", **bound}
    schema = {"type": "object", "properties": {"name": string, "age": {"type": "integer"}, "city": string},
              "required": ["name", "age", "city"], "additionalProperties": False}
    return {"schema": schema, "texts": TEXTS}


def optional(n):
    """An object of so many properties, none of which has to be there."""
    schema = {"type": "object", "properties": {f"property_{i}": {"type": "integer"} for i in range(n)}, "additionalProperties": False}
    return {"schema": schema, "texts": ['{"property_3": 1, "property_50": 22, "property_%d": 7}' % (n - 1), '{"property_0": 1}']}


def deep(n):
    """Arrays in arrays."""
    schema = {"type": "integer"}
    for _ in range(n):
        schema = {"type": "array", "items": schema}
    return {"schema": schema, "texts": ["[" * n + "1, 2" + "]" * n]}


def cases(grammars):
    """Rows of name, and what there is of schema, gbnf, regex; texts that fit; libraries that are not asked. `grammars`: the folder of llama.cpp, or None."""
    rows = [{"name": "strings and a number", **person(None)}]
    rows += [{"name": f"maxLength {n}", **person(n)} for n in (12, 200, 5000)]
    rows.append({"name": "200 optional properties", **optional(200)})
    rows += [{"name": f"arrays {n} deep", **deep(n)} for n in (20, 60)]
    rows.append({"name": "regex of an e-mail", "regex": r"[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}\.[a-z]{2,24}",
                 "texts": ["john.doe@mail.example.com"]})
    rows.append({"name": "regex of a date", "regex": r"\d{4}-(0[1-9]|1[0-2])-([0-2]\d|3[01])T\d\d:\d\d:\d\d(\.\d{1,9})?Z",
                 "texts": ["2026-11-26T05:30:00Z", "1999-01-31T23:59:59.123Z"]})
    # xgrammar does not come to an end of compiling this within ten minutes.
    rows.append({"name": "nested counts", "regex": "((a{0,1000}){0,1000}){0,1000}", "texts": ["a" * 40], "left_out": ["xgrammar"]})
    texts = {
        "json": ['{"a": [1, 2.5, {"b": "hello world, this is text", "c": null}], "d": true}'],
        "json_arr": ['[\n{"a": 1, "b": [true, false]},\n"text here"]'],
        "c": ["int main(){int i = 0;foo(i, 2);return 1;}"],
        "chess": ["1. e4 e5\n2. Nf3 Nc6\n3. Bb5 a6\n"],
        "english": ["The quick brown fox, 12 of them; jumped over the (lazy) dog!"],
        "japanese": ["\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059\u3002\n\u3053\u308c\u306f"],
        "list": ["- one thing\n- two things, really\n"],
        "arithmetic": ["(x +12)*y = 3\nz = (a -b)\n"],
    }
    for name, fits in texts.items() if grammars else []:
        rows.append({"name": f"{name}.gbnf", "gbnf": (Path(grammars) / f"{name}.gbnf").read_text(), "texts": fits})
    return rows


def for_puna(rows):
    out = []
    for row in rows:
        kind = next(kind for kind in ("schema", "gbnf", "regex") if kind in row)
        grammar = row[kind] if isinstance(row[kind], str) else json.dumps(row[kind])
        out.append({"name": row["name"], "kind": kind, "grammar": grammar, "texts": row["texts"]})
    return json.dumps(out)
