#!/usr/bin/env python3
"""Checks what Puna makes of Go templates against ollama's own package, which renders with Go's text/template.

usage: tools/compare_go_templates.py [--write | FOLDER...]     (needs: go, and its module proxy on the first run)

tests/fixtures/go_templates/NAME.gotmpl are templates in the style of families, rendered without the newline at their end;
the cases of go_template_cases.py are of one part of the language each. With --write the outcomes are written to
conversations.json, expected.json and language.json beside them, for `make test`; a difference is reported, and the exit
code is 1. With FOLDERs their *.gotmpl are rendered in place of these.
Needs build/release/tests/puna_render_cases: cmake --build --preset release --target puna_render_cases.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import go_template_cases as cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "fixtures" / "go_templates"
RENDERER = ROOT / "build" / "release" / "tests" / "puna_render_cases"


def build():
    program = pathlib.Path(tempfile.gettempdir()) / "puna_go_templates"
    subprocess.run(["go", "build", "-o", program, "."], cwd=ROOT / "tools" / "go_templates", check=True)
    return program


def render(program, templates, pairs):
    """What ollama and what Puna make of (template, conversation) pairs of names."""
    inputs = {"templates": templates, "go": True, "now_s": 0,
              "cases": [{"template": name, "context": cases.CONVERSATIONS[conversation]} for name, conversation in pairs]}
    text = json.dumps(inputs)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        ours = subprocess.run([RENDERER, file.name], capture_output=True, check=True).stdout
    theirs = subprocess.run([program], input=text.encode(), capture_output=True, check=True).stdout
    return json.loads(theirs), json.loads(ours)


def has_calls(context):
    return any(message.get("tool_calls") or message["role"] == "tool" for message in context["messages"])


def families(program, folders):
    """The families' outcomes by template and conversation; null is what Puna refuses: calls where there is no place for them."""
    files = [file for folder in folders for file in sorted(folder.glob("*.gotmpl"))]
    templates = {file.stem: file.read_text().removesuffix("\n") for file in files}
    pairs = [(name, conversation) for name, text in templates.items() for conversation, context in cases.CONVERSATIONS.items()
             if context["messages"] or ".Suffix" in text]
    expected, n_different = {}, 0
    for (name, conversation), theirs, ours in zip(pairs, *render(program, templates, pairs)):
        refused = ".Messages" not in templates[name] and has_calls(cases.CONVERSATIONS[conversation])
        want = None if refused else theirs.get("expected")
        expected.setdefault(name, {})[conversation] = want
        if want != ours.get("expected"):
            n_different += 1
            print(f"{name}, {conversation}:\n  ollama {theirs}\n  puna   {ours}")
    print(f"{len(templates)} templates, {len(pairs)} texts, {n_different} different")
    return expected, n_different


def language(program):
    rows = [(conversation or ("results" if ".Messages" in text else "user"), text, kind) for kind, table in (("", cases.LANGUAGE), ("refused", cases.REFUSED))
            for conversation, texts in table.items() for text in texts]
    templates = {str(i): text for i, (_, text, _) in enumerate(rows)}
    pairs = [(str(i), conversation) for i, (conversation, _, _) in enumerate(rows)]
    out, n_different = [], 0
    for (conversation, text, kind), theirs, ours in zip(rows, *render(program, templates, pairs)):
        want = None if kind else theirs.get("expected")
        outcome = {"fails": True} if want is None else {"expected": want}
        out.append({"conversation": conversation, "template": text, **outcome})
        if want != ours.get("expected"):
            n_different += 1
            print(f"{text!r}, {conversation}:\n  ollama {theirs}\n  puna   {ours}")
    print(f"{len(rows)} parts of the language, {n_different} different")
    return out, n_different


def write(name, value):
    (FOLDER / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def main(arguments):
    program = build()
    if arguments and arguments[0] != "--write":
        return 1 if families(program, [pathlib.Path(folder) for folder in arguments])[1] else 0
    expected, n_families = families(program, [FOLDER])
    parts, n_parts = language(program)
    if arguments:
        write("conversations.json", cases.CONVERSATIONS)
        write("expected.json", expected)
        write("language.json", parts)
    return 1 if n_families or n_parts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
