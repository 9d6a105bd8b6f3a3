#!/usr/bin/env python3
"""Checks the fixtures of the chat templates against Python's jinja2, set up as transformers does it.

usage: tools/compare_templates.py [--write | FOLDER...]      (needs: pip install jinja2==3.1.6)

tests/fixtures/chat/NAME.jinja is a template and NAME.json its cases, [{"context": {...}, "expected": "..."}]; a case
without a .jinja file of that name brings its own "template". "fails": true stands in place of "expected" where jinja2
raises an error. models/ holds models' own templates, and for each conversation of template_cases.py the hash of its text.
With --write the outcomes are written anew, else a difference is reported and the exit code is 1.

With FOLDERs their *.jinja (models' own templates, say) are rendered with the conversations of template_cases.py by jinja2
and by Puna (build/release/tests/puna_render_cases: cmake --build --preset release --target puna_render_cases).
"""
import datetime
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

import jinja2
import jinja2.ext
import jinja2.sandbox

import template_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "fixtures" / "chat"
RENDERER = ROOT / "build" / "release" / "tests" / "puna_render_cases"
NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)


class Generation(jinja2.ext.Extension):
    """{% generation %}: its body, as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


class Dict:
    """dict() of transformers: nothing of the type but what makes dicts."""

    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


class Namespace(jinja2.utils.Namespace):
    """namespace() of transformers: no names with an underscore in front."""

    def __init__(*args, **kwargs):
        for name in (attributes := dict(*args[1:], **kwargs)):
            Namespace.check(name)
        jinja2.utils.Namespace.__init__(args[0], attributes)

    def __setitem__(self, name, value):
        Namespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation]
    )
    env.filters["tojson"] = tojson
    env.filters["from_json"] = json.loads  # not of transformers, but of other engines and of Puna
    env.globals["dict"] = Dict()
    env.globals["namespace"] = Namespace
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


@functools.lru_cache(maxsize=1)
def compiled(env, source):
    return env.from_string(source)


def outcome(env, template, context, tell=True):
    try:
        return {"expected": compiled(env, template).render(**context)}
    except Exception as error:  # whatever Python makes of a bad template
        if tell:
            print(f"note: {type(error).__name__}: {error}", file=sys.stderr)
        return {"fails": True, "why": f"{type(error).__name__}: {error}"}


def without_reason(result):
    return {key: value for key, value in result.items() if key not in ("why", "error")}


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def models(env, write):
    """Writes or checks tests/fixtures/chat/models; returns how many cases there are and how many differ."""
    sums = {}
    for path in sorted((FOLDER / "models").glob("*.jinja")):
        results = [outcome(env, path.read_text(), context, tell=False) for _, context in template_cases.contexts()]
        sums[path.stem] = ["fails" if "fails" in each else fnv1a(each["expected"]) for each in results]
    parts = {"conversations": template_cases.CONVERSATIONS, "tools": template_cases.TOOLS, "thinking": template_cases.THINKING}
    texts = {
        "conversations.json": json.dumps(parts, indent=1, ensure_ascii=False) + "\n",
        "sums.json": json.dumps(sums, separators=(",", ":")).replace("],", "],\n") + "\n",
    }
    wrong = 0
    for name, text in texts.items():
        path = FOLDER / "models" / name
        if write:
            path.write_text(text)
        elif path.read_text() != text:
            wrong += 1
            print(f"models/{name} is not what it would be written as")
    return sum(map(len, sums.values())), wrong


def by_puna(sources, cases):
    """What Puna makes of cases: [{"template": name, "context": {...}}, ...]."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"templates": sources, "cases": cases, "now_s": int(NOW.timestamp())}, file)
        file.flush()
        return json.loads(subprocess.run([RENDERER, file.name], check=True, capture_output=True).stdout)


def compare_folders(folders):
    """Renders each template of the folders with every conversation, by jinja2 and by Puna; returns the exit code."""
    env = environment()
    sources = {str(path): path.read_text() for folder in folders for path in sorted(pathlib.Path(folder).glob("*.jinja"))}
    names, cases, expected = [], [], []
    for source, text in sources.items():
        for name, context in template_cases.contexts():
            names.append((source, name))
            cases.append({"template": source, "context": context})
            expected.append(outcome(env, text, context, tell=False))
    ours = by_puna(sources, cases)
    wrong = {}
    for (source, name), theirs, own in zip(names, expected, ours):
        if without_reason(theirs) != without_reason(own):
            wrong.setdefault(source, []).append((name, theirs, own))
    for source, differences in wrong.items():
        name, theirs, own = differences[0]
        print(f"{source}: {len(differences)} cases differ, first: {name}\n  jinja2: {theirs}\n  puna:   {own}")
    n_failing = sum("fails" in each for each in expected)
    print(f"{len(sources)} templates, {len(cases)} cases ({n_failing} refused by jinja2), "
          f"{sum(map(len, wrong.values()))} differ in {len(wrong)} templates")
    return 1 if wrong else 0


def main():
    write = sys.argv[1:] == ["--write"]
    if sys.argv[1:] and not write:
        if sys.argv[1].startswith("-"):
            sys.exit(__doc__)
        sys.exit(compare_folders(sys.argv[1:]))
    env, n_cases, n_wrong = environment(), 0, 0
    for path in sorted(FOLDER.glob("*.json")):
        source = path.with_suffix(".jinja")
        shared = source.read_text() if source.exists() else None
        cases = json.loads(path.read_text())
        for case in cases:
            template = case["template"] if shared is None else shared
            now = without_reason(outcome(env, template, case.get("context", {})))
            n_cases += 1
            if now != {key: case[key] for key in ("expected", "fails") if key in case}:
                n_wrong += 1
                print(f"{path.name}: {json.dumps(template)[:100]} gives {json.dumps(now)}")
                case.pop("expected", None), case.pop("fails", None)
                case.update(now)
        if write:
            path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
    n_models, wrong_files = models(env, write)
    n_cases, n_wrong = n_cases + n_models, n_wrong + wrong_files
    print(f"{n_cases} cases, {n_wrong} differ" + (" (written)" if write else ""))
    sys.exit(1 if n_wrong and not write else 0)


if __name__ == "__main__":
    main()
