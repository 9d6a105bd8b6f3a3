#!/usr/bin/env python3
"""Compares Puna's Jinja with Python's jinja2 over random expressions: every filter, test, method, operator and function, over
random values and arguments, with what is an error.

usage: tools/random_templates.py [COUNT] [SEED]      (needs: pip install jinja2==3.1.6, and the target puna_render_cases)

Prints how many expressions agree, and a line for each kind of difference; exit code 1 unless all differences are known ones.
"""
import collections
import json
import random
import re
import sys
import warnings

import compare_templates

TEXTS = ["", "a", "b c", "Hello World", "hello wORLD", " x ", "a,b,,c", "12", "-3.5", "0x1A", "1_000", "ß", "é", "ǆ", "ΑΣ", "a\nb\n\nc", "ab" * 5,
         "tab\tx", "%s-%d", "{}|{0}", "<b>&'\"</b>", "日本", "one-two three--four", "Title Case", "it's", "\u00a0x", "٣", "a.b", "inf", "nan", "x=y"]
NUMBERS = ["0", "1", "2", "-1", "3", "7", "10", "255", "1234", "-17", "0.0", "0.5", "2.5", "-2.5", "3.14159", "1e20", "1e-7", "100.0", "1250.0"]
CONSTANTS = ["true", "false", "none", "missing"]
CONTEXT = {"d": {"a": 1, "b": [1, 2], "items": "own", "c": None}, "l": [3, 1, 2], "w": ["b", "A", "c", "a"],
           "p": [{"n": "Ann", "a": 31}, {"n": "bob", "a": 25}, {"n": "Cy", "a": 31}], "t": "the text", "k": {"y": 1, "X": 2, "z": 0}}
METHODS = {
    "str": """capitalize casefold center count endswith expandtabs find format format_map index isalnum isalpha isascii isdecimal isdigit isidentifier
        islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex
        rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill""".split(),
    "dict": "copy get items keys values pop update setdefault clear fromkeys".split(),
    "list": "count index copy append extend insert pop remove reverse sort clear".split(),
    "number": "is_integer bit_length conjugate".split(),
}
FILTERS = """abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape format groupby indent int items
    join last length list lower map max min pprint reject rejectattr replace reverse round safe select selectattr slice sort string striptags sum title
    tojson trim truncate unique upper urlencode wordcount wordwrap xmlattr""".split()
TESTS = """boolean callable defined divisibleby eq equalto escaped even false filter float ge greaterthan gt in integer iterable le lessthan lower lt mapping
    ne none number odd sameas sequence string test true undefined upper""".split()
NAMED = {"sort": ["reverse", "case_sensitive", "attribute"], "int": ["default", "base"], "round": ["precision", "method"], "tojson": ["indent", "sort_keys",
         "ensure_ascii"], "truncate": ["length", "killwords", "end", "leeway"], "wordwrap": ["width", "break_long_words", "break_on_hyphens", "wrapstring"],
         "map": ["attribute", "default"], "groupby": ["attribute"], "unique": ["case_sensitive", "attribute"], "min": ["attribute"], "max": ["attribute"],
         "sum": ["attribute", "start"], "indent": ["width", "first", "blank"], "dictsort": ["by", "reverse", "case_sensitive"], "join": ["d", "attribute"],
         "default": ["boolean"], "split": ["sep", "maxsplit"], "splitlines": ["keepends"], "filesizeformat": ["binary"], "replace": ["count"]}
FITTING = {  # arguments that mean something, so that not everything is an error
    "batch": ["2", "3, 'x'"], "slice": ["2", "3, 0"], "attr": ["'upper'", "'a'"], "map": ["'upper'", "'length'", "attribute='n'", "'default', 1"],
    "select": ["'odd'", "", "'gt', 1", "'string'"], "reject": ["'even'", "", "'none'"], "selectattr": ["'a', 'gt', 30", "'n'"], "rejectattr": ["'a', 'eq', 31"],
    "format": ["1", "'x', 2", "a=1"], "truncate": ["5", "9, true", "5, false, '..', 0", "length=4"], "wordwrap": ["3", "5, false", "4, true, '|'", "6, break_on_hyphens=false"],
    "round": ["1", "-1", "-2", "2, 'ceil'", "0, 'floor'", "method='ceil'"], "int": ["0, 16", "5", "base=0", "0, 2"], "indent": ["2", "'> '", "2, true", "2, blank=true"],
    "tojson": ["indent=2", "indent='\\t'", "sort_keys=true", "ensure_ascii=true", "separators=(',', ':')"], "sort": ["reverse=true", "attribute='a,n'", "attribute='n'", "case_sensitive=true"],
    "groupby": ["'a'", "'n'", "'zz', default='q'"], "sum": ["attribute='a'", "start=5"], "join": ["', '", "'-', attribute='n'"], "center": ["20", "9"],
    "replace": ["'a', 'b'", "'', '-'", "'b', 'x', 1"], "dictsort": ["by='value'", "reverse=true", "true"], "default": ["'q'", "'q', true"], "trim": ["'xa'"],
    "ljust": ["8", "8, '*'"], "rjust": ["8", "9, 'é'"], "zfill": ["6"], "find": ["'b'", "'', 1", "'l', 2, -1"], "index": ["'b'", "1"], "count": ["'a'", "'l', 3"],
    "startswith": ["'a'", "('x', 'a')", "'e', 1"], "endswith": ["'c'", "('d', 'c')"], "split": ["','", "none, 1", "'l', 1"], "rsplit": ["none, 1", "',', 1"],
    "partition": ["'l'"], "rpartition": ["'l'"], "strip": ["'ab '"], "translate": ["{97: 'X', 98: none}", "'a'.maketrans('al', 'xy')"], "maketrans": ["'ab', 'cd'", "{'a': 'b'}"],
    "expandtabs": ["4"], "removeprefix": ["'a'"], "removesuffix": ["'c'"], "format_map": ["{'a': 1}"], "get": ["'a'", "'q', 5"], "fromkeys": ["['a', 'b'], 0"], "attr_": [],
    "items": [""], "first": [""], "min": ["attribute='a'"], "max": ["attribute='n'"], "unique": ["attribute='a'"], "xmlattr": ["", "false"], "divisibleby": ["3", "0"], "in": ["[1, 2]", "'abc'", "d"],
    "sameas": ["none", "true"], "eq": ["1"], "gt": ["1"], "lessthan": ["2.5"]}
FORMATS = ["%s", "%5s|", "%-5s|", "%05d", "%+d", "% d", "%x", "%#X", "%o", "%e", "%.2f", "%g", "%10.3f|", "%c", "%r", "%a", "%i%%", "%.3s", "%#o", "%G", "%08.2f",
           "%(a)s", "%*d", "%.*f", "%d and %s", "%5%", "%z", "%.5d", "%-+8.1e|"]
SPECS = ["", ">5", "<5", "^7", "*^9", "05", "+", " ", ",", "_", "x", "#x", "b", "o", "c", "e", ".2f", "8.3f", "%", ".1%", "g", ".3", "n", "s", ".2s", "010,", "+.1e", "=5", "08.2f",
         "G", "#o", "_x", "é<4", "012_b", ",.2f", "0>6", "q", ".0f", "#.3g", "10.4"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, of):
        return self.random.choice(of)

    def value(self, depth=0):
        kind = self.random.randrange(9 if depth < 2 else 5)
        if kind < 2:
            return json.dumps(self.pick(TEXTS), ensure_ascii=False)
        if kind == 2:
            return self.pick(NUMBERS)
        if kind == 3:
            return self.pick(CONSTANTS)
        if kind == 4:
            return self.pick(["d", "l", "w", "p", "t", "k", "d.b", "p[0]", "range(4)", "k.keys()", "d.items()", "('<i>'|safe)", "('<'|escape)"])
        items = ", ".join(self.value(depth + 1) for _ in range(self.random.randrange(4)))
        if kind == 5:
            return f"[{items}]"
        if kind == 6:
            return f"({items},)" if items else "()"
        if kind == 7:
            return "{" + ", ".join(f"{self.pick(['1', chr(39) + 'k' + chr(39), 'true', '2.5', 'none'])}: {self.value(depth + 1)}" for _ in range(self.random.randrange(3))) + "}"
        return self.pick(["l", "w", "t", "d"]) + self.pick(["[0]", "[-1]", "[1:]", "[::-1]", "[::2]", "[5]", "['a']", ".a", ".items", ".x"])

    def arguments(self, name, n=3):
        if name in FITTING and FITTING[name] and self.random.random() < 0.75:
            return self.pick(FITTING[name])
        out = [self.value(1) for _ in range(self.random.randrange(n))]
        if name in NAMED and self.random.random() < 0.4:
            out.append(f"{self.pick(NAMED[name])}={self.value(1)}")
        return ", ".join(out)

    def expression(self, depth):
        if depth == 0:
            return self.value()
        inner = self.expression(depth - 1)
        kind = self.random.randrange(11)
        if kind < 4:
            name = self.pick(FILTERS)
            arguments = self.arguments(name)
            return f"({inner})|{name}" + (f"({arguments})" if arguments or self.random.random() < 0.1 else "")
        if kind < 6:
            method = self.pick(METHODS[self.pick(["str", "str", "str", "dict", "list", "number"])])
            return f"({inner}).{method}({self.arguments(method)})"
        if kind == 6:
            test = self.pick(TESTS)
            return f"({inner}) is {self.pick(['', 'not '])}{test}({self.arguments(test, 2)})".replace("()", "")
        if kind == 7:
            return f"({inner}) {self.pick(['+', '-', '*', '/', '//', '%', '**', '~', '==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'and', 'or'])} ({self.expression(0)})"
        if kind == 8:
            return f"{json.dumps(self.pick(FORMATS))} % ({self.pick([inner, f'({inner},)', f'({inner}, {self.value(1)})', f'dict(a={inner})'])})"
        if kind == 9:
            conversion = self.pick(["", "", "", "!r", "!s", "!a"])
            return f"'{{{conversion}:{self.pick(SPECS)}}}'.format({inner})"
        return self.pick([f"({inner})[{self.value(2)}]", f"({inner})[{self.pick(NUMBERS)}:]", f"-({inner})", f"not ({inner})", f"({inner}) if ({self.value()}) else 1", f"[{inner}]|tojson",
                          f"({inner})|list", f"({inner})|string", f"({inner}).{self.pick(['a', 'n', 'items', 'real', 'upper', '0'])}"])


# What Puna refuses or does on purpose, by what its error or jinja2's text says.
KNOWN = {
    "integers beyond 64 bits": lambda theirs, own: "64 bits" in own.get("error", ""),
    "an address in the text": lambda theirs, own: re.search(r" at 0x|<built-in|<function|<bound|<class|<generator|_iterator|<filter|object>|<zip", theirs.get("expected", "")),
    "refused by name": lambda theirs, own: "not supported" in own.get("error", ""),
    "slices of constants, which jinja2 computes by other rules than slices of variables": lambda theirs, own: "has no slices" in own.get("error", "")
        or "of a slice is" in own.get("error", ""),
    "a float where an int belongs": lambda theirs, own: "is of type float, but an int" in own.get("error", ""),
    "walks what jinja2 computes when asked": lambda theirs, own: "generator" in theirs.get("why", "") or "iterator" in theirs.get("why", "") or "reversed" in theirs.get("why", ""),
    "too large for jinja2 as well, at other sizes": lambda theirs, own: any(s in own.get("error", "") for s in ("too large", "more steps", "above 100000")),
    "sets of keys": lambda theirs, own: "dict_keys" in own.get("error", "") or "dict_items" in own.get("error", ""),
}


LAZY = re.compile(r"\|(map|select|reject|selectattr|rejectattr|batch|slice|unique|items|reverse)\b")


def main():
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    maker = Maker(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    env = compare_templates.environment()
    sources = {}
    while len(sources) < count:
        source = "{{ " + maker.expression(maker.pick([1, 1, 1, 2, 2, 3])) + " }}"
        if not re.search(r"\d{7}|1e20\)* *\*|\*\* *\(1234", source):
            sources[source] = source
    cases = [{"template": source, "context": CONTEXT} for source in sources]
    expected = [compare_templates.outcome(env, source, json.loads(json.dumps(CONTEXT)), tell=False) for source in sources]
    own = compare_templates.by_puna(sources, cases)
    known, unknown = collections.Counter(), []
    for source, theirs, ours in zip(sources, expected, own):
        if compare_templates.without_reason(theirs) == compare_templates.without_reason(ours):
            continue
        why = next((name for name, holds in KNOWN.items() if holds(theirs, ours)), None)
        if not why and LAZY.search(source):
            why = "jinja2 computes a sequence when it is walked, and some never; Puna does at once"
        if why:
            known[why] += 1
        else:
            unknown.append((source, theirs, ours))
    failing = sum("fails" in each for each in expected)
    print(f"{count} expressions ({failing} are errors in jinja2): {count - sum(known.values()) - len(unknown)} agree")
    for why, n in known.most_common():
        print(f"  {n} differ as known: {why}")
    print(f"  {len(unknown)} differ otherwise")
    for source, theirs, ours in unknown[:60]:
        print(f"    {source}\n      jinja2: {str(theirs)[:150]}\n      puna:   {str(ours)[:150]}")
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main()
