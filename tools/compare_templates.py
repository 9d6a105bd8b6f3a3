#!/usr/bin/env python3
"""Checks the fixtures of the chat templates against Python's jinja2, set up as transformers does it.

usage: tools/compare_templates.py [--write]      (needs: pip install jinja2==3.1.6)

tests/fixtures/chat/NAME.jinja is a template and NAME.json its cases, [{"context": {...}, "expected": "..."}]; a case
without a .jinja file of that name brings its own "template". "fails": true stands in place of "expected" where jinja2
raises an error. With --write the outcomes are written anew, else a difference is reported and the exit code is 1.
"""
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "chat"
NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)


class Generation(jinja2.ext.Extension):
    """{% generation %}: its body, as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def outcome(env, template, context):
    try:
        return {"expected": env.from_string(template).render(**context)}
    except Exception as error:  # whatever Python makes of a bad template
        print(f"note: {type(error).__name__}: {error}", file=sys.stderr)
        return {"fails": True}


def main():
    write = sys.argv[1:] == ["--write"]
    if sys.argv[1:] and not write:
        sys.exit(__doc__)
    env, n_cases, n_wrong = environment(), 0, 0
    for path in sorted(FOLDER.glob("*.json")):
        source = path.with_suffix(".jinja")
        shared = source.read_text() if source.exists() else None
        cases = json.loads(path.read_text())
        for case in cases:
            template = case["template"] if shared is None else shared
            now = outcome(env, template, case.get("context", {}))
            n_cases += 1
            if now != {key: case[key] for key in ("expected", "fails") if key in case}:
                n_wrong += 1
                print(f"{path.name}: {json.dumps(template)[:100]} gives {json.dumps(now)}")
                case.pop("expected", None), case.pop("fails", None)
                case.update(now)
        if write:
            path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
    print(f"{n_cases} cases, {n_wrong} differ" + (" (written)" if write else ""))
    sys.exit(1 if n_wrong and not write else 0)


if __name__ == "__main__":
    main()
