#!/usr/bin/env python3
"""Says which files of a target are compiled together (together.cmake calls it).

usage: together.py LINES FILE...
Prints a number for each file, the same for those of a batch, or - for one that is compiled by itself. A batch has LINES lines at most, unless a
file alone has more.

Files of a batch are one translation unit, so no two of them may mean different things by a name, each for itself. Names are found as the
code's format puts them: at the beginning of a line. Where that sees too many it costs time; where it sees too few the compiler tells.
"""
import re
import sys

NAME = r"[A-Za-z_]\w*"
TYPE = re.compile(rf"^(?:struct|class|enum class|enum|union) (?:\[\[\w+\]\] )?({NAME})", re.M)
ALIAS = re.compile(rf"^using ({NAME}) =\s*([^;]+);", re.M)
TAKEN = re.compile(rf"^using (\w[\w:]*::)({NAME});", re.M)
# A function or a variable: the last name before its parameters, its value or its end.
OTHER = re.compile(rf"^(?!namespace |using |template |struct |class |enum |union )\w[^\[\]\n;={{(]*[ &*]({NAME})", re.M)
# Macros hold for what follows, and compilers look closer at allocation where they see what it does.
ALONE = re.compile(r"^ *# *(?:define|undef) |^void\* operator new", re.M)


def meanings(text):
    """What each name means to others: the file's own, or what it stands for."""
    out = {name: None for pattern in (TYPE, OTHER) for name in pattern.findall(text)}
    out |= {name: target for name, target in ALIAS.findall(text)}
    out |= {name: space + name for space, name in TAKEN.findall(text)}
    return out


class Batch:
    def __init__(self):
        self.lines = 0
        self.names = {}

    def takes(self, lines, names, most):
        return self.lines + lines <= most and all(
            name not in self.names or meant is not None and self.names[name] == meant for name, meant in names.items())

    def add(self, lines, names):
        self.lines += lines
        self.names |= names


def main():
    most, batches = int(sys.argv[1]), []
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if ALONE.search(text):
            print("-")
            continue
        lines, names = text.count("\n"), meanings(text)
        batch = next((b for b in batches if b.takes(lines, names, most)), None)
        if batch is None:
            batch = Batch()
            batches.append(batch)
        batch.add(lines, names)
        print(batches.index(batch))


if __name__ == "__main__":
    main()
