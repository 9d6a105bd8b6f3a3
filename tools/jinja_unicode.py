#!/usr/bin/env python3
"""Writes src/chat/jinja/unicode_data.cpp: what Python's str methods know of characters, from Python's own tables.

usage: tools/jinja_unicode.py > src/chat/jinja/unicode_data.cpp
"""
import sys
import unicodedata

N = 0x110000
VALID = [c for c in range(N) if not 0xD800 <= c < 0xE000]


def ranges(holds):
    out, first = [], None
    for c in range(N + 1):
        if c < N and holds(chr(c)):
            first = c if first is None else first
        elif first is not None:
            out.append((first, c - 1))
            first = None
    return out


def mapped(change, keeps=lambda c: False):
    """(first, last, step, delta) for what maps to one character, {character: text} for the rest."""
    single, special = [], {}
    for c in VALID:
        to = change(chr(c))
        if len(to) != 1:
            special[c] = to
        elif ord(to) != c or keeps(c):
            delta = ord(to) - c
            if single and single[-1][3] == delta and c - single[-1][1] in (1, 2):
                first, last, step, _ = single[-1]
                if step == 0 or step == c - last:
                    single[-1] = (first, c, c - last, delta)
                    continue
            single.append((c, c, 0, delta))
    return [(a, b, step or 1, d) for a, b, step, d in single], special


def table(name, kind, rows, show):
    print(f"\nconstexpr {kind} {name}Rows[] = {{")
    line = "   "
    for row in rows:
        text = " " + show(row) + ","
        if len(line) + len(text) > 100:
            print(line)
            line = "   "
        line += text
    print(line + "\n};")
    return len(rows)


def utf8(text):
    return '"' + "".join(f"\\x{b:02x}" for b in text.encode()) + '"'


print(f"""// What Python's str methods know of characters (Unicode {unicodedata.unidata_version}).
// Written by tools/jinja_unicode.py.
#include "chat/jinja/unicode.h"

// clang-format off
namespace puna::chat::jinja {{
namespace {{""")
sets = {"kLetters": str.isalpha, "kDecimals": str.isdecimal, "kDigits": str.isdigit, "kNumerics": str.isnumeric,
        "kPrintables": str.isprintable, "kUppers": lambda c: unicodedata.category(c) in "Lu Lt".split() or c.isupper(),
        "kLowers": lambda c: c.islower()}
for name, holds in sets.items():
    table(name, "CodePointRange", ranges(holds), lambda r: f"{{{r[0]:#x},{r[1]:#x}}}")
maps = {"kUpper": str.upper, "kLower": lambda c: c.lower(), "kTitle": lambda c: c.title() if c.title() != c.upper() else c, "kFold": str.casefold}
specials = {}
for name, change in maps.items():
    # What titles as itself but has another capital is told too.
    rows, specials[name] = mapped(change, lambda c: name == "kTitle" and chr(c).title() == chr(c) != chr(c).upper())
    table(name, "CaseRange", rows, lambda r: f"{{{r[0]:#x},{r[1]:#x},{r[2]},{r[3]}}}")
    table(name + "Special", "CaseText", specials[name].items(), lambda r: f"{{{r[0]:#x},{utf8(r[1])}}}")
print("\n}  // namespace\n")
for name in sets:
    print(f"const std::span<const CodePointRange> {name} = {name}Rows;")
for name in maps:
    print(f"const CaseMap {name} = {{{name}Rows, {name}SpecialRows}};")
print("\n}  // namespace puna::chat::jinja")
