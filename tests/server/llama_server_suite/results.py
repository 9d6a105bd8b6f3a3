"""Writes RESULTS.md of what `run` recorded.

    results.py OUTCOMES NAMED_OUTCOMES

OUTCOMES: of all tests; NAMED_OUTCOMES: of the same with SUITE_NAMES set, where the model is also called
what tests ask for. Why a test does not pass is looked up in classes.tsv: the first row whose regular
expression is found in the test's name. A test that no row explains ends with 1 and its name, and so does a
row that explains none.
"""

import collections
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
CLASSES = {
    "passed": "passes",
    "name": "another name of the model",
    "decision": "differs by decision",
    "later": "feature of a later issue",
    "weights": "needs trained weights or their vocabulary",
    "peer": "asks for llama-server's insides",
    "missing": "missing in Puna",
}
INTRODUCTION = """# llama-server's own tests against puna serve
The tests of llama.cpp's server as llama-cpp-python 0.3.36 carries them, run by `run` with models of random
weights (`models.py`), without those marked slow. This file is written by `results.py` from their outcomes and
the reasons in `classes.tsv`.

A test that asks for a model by a name that no flag gave gets 404 (docs/from-llama-server.md, "Unknown model").
Where it passes as soon as the model is called that too, it counts as "{name}"; else as what it fails at
then.

Most tests stop at their first failure, so one that is counted under one reason may hide another. A test that
expects an error may pass because what it asks for is not there.
"""


def read_classes():
    rows = []
    for line in (HERE / "classes.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, kind, reason = line.split("\t")
            rows.append((re.compile(pattern), kind, reason))
    return rows


def main():
    plain, named = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:3])
    rows = read_classes()
    by_file = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(collections.Counter)
    used, unexplained = set(), []
    for test, (outcome, _) in sorted(plain.items()):
        file, name = test.removeprefix("unit/").split("::", 1)
        kind = "passed"
        if outcome != "passed":
            kind = "name"
            if named.get(test, ["failed"])[0] != "passed":
                row = next((row for row in rows if row[0].search(f"{file}::{name}")), None)
                if row is None:
                    unexplained.append(test)
                    continue
                used.add(row[0])
                kind = row[1]
                reasons[kind][(file, row[2])] += 1
        by_file[file][kind] += 1
    unused = [row[0].pattern for row in rows if row[0] not in used]
    for what, names in (("no row for", unexplained), ("nothing for", unused)):
        for each in names:
            print(f"{what}: {each}")
    if unexplained or unused:
        sys.exit(1)

    total = sum(by_file.values(), collections.Counter())
    out = [INTRODUCTION.format(**CLASSES), "## By file"]
    out.append("| File | Tests | " + " | ".join(CLASSES.values()) + " |")
    out.append("| --- | " + "---: | " * (len(CLASSES) + 1))
    for file, counts in [*by_file.items(), ("all", total)]:
        cells = [str(counts[kind]) if counts[kind] else "" for kind in CLASSES]
        out.append(f"| {file} | {sum(counts.values())} | " + " | ".join(cells) + " |")
    for kind, title in CLASSES.items():
        if not reasons[kind]:
            continue
        out.append(f"\n## {title[0].upper()}{title[1:]}")
        out.append("| File | Tests | Why |\n| --- | ---: | --- |")
        for (file, reason), n in sorted(reasons[kind].items()):
            out.append(f"| {file} | {n} | {reason} |")
    (HERE / "RESULTS.md").write_text("\n".join(out).replace(" | \n", " |\n") + "\n")


if __name__ == "__main__":
    main()
