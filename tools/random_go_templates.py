#!/usr/bin/env python3
"""Compares what ollama's own package and Puna make of random Go templates, each with some of the conversations of
go_template_cases.py.

usage: tools/random_go_templates.py [COUNT] [SEED]      (needs what compare_go_templates.py needs)

Prints how many texts agree, and the templates of those that do not; exit code 1 if there is one. What Puna refuses is told
by reason, and what only ollama fails at is counted: in the last turn of a template without .Messages it has no functions
of its own.
"""
import collections
import random
import re
import sys

import compare_go_templates
import go_template_cases as cases

# What may be asked of a dot, with the type of each; a type that has a row is one that a dot can be.
FIELDS = {
    "messages": {".System": "string", ".Messages": "list of message", ".Tools": "list of tool", ".Think": "flag", ".ThinkLevel": "string", ".Nothing": "nil",
                 ".Response": "string"},
    "turns": {".System": "string", ".Prompt": "string", ".Response": "string", ".Think": "flag", ".ThinkLevel": "string", ".Nothing": "nil", ".Tools": "nil"},
    "message": {".Role": "string", ".Content": "string", ".Thinking": "string", ".ToolCalls": "list of call", ".ToolName": "string", ".Images": "list of value"},
    "call": {".ID": "string", ".Function.Name": "string", ".Function.Arguments": "map of value", ".Function.Index": "integer"},
    "tool": {".Type": "string", ".Function.Name": "string", ".Function.Description": "string", ".Function.Parameters.Properties": "map of property",
             ".Function.Parameters.Required": "list of string"},
    "property": {".Type": "list of string", ".Description": "string", ".Enum": "list of any", ".Items": "value"},
    "string": {".": "string"},
    "integer": {".": "integer"},
    "value": {".": "value"},
}
CONSTANTS = {"1": "integer", "0": "integer", "\"a\"": "string", "\"\"": "string", "`é<`": "string", "true": "flag", "false": "flag", "1.5": "float", "$.System": "string"}
COMPARABLE = ("string", "integer", "float")
WRITTEN = ("string", "integer", "flag", "float", "map of value", "list of tool", "map of property", "list of string", "list of any", "value", "nil")
TEXTS = [" text ", "\n", "a\n b", "'q' {% %}", " ", "|"]


class Writer:
    """Writes one template, of whose variables and dot it knows the types."""

    def __init__(self, dice, root):
        self.dice, self.root, self.n_names = dice, root, 0

    def action(self, text):
        left, right = self.dice.choice(["", "- "]), self.dice.choice(["", " -"])
        return "{{" + (left or " ") + text + (right or " ") + "}}"

    def value(self, dot, variables, depth=0):
        """An expression and its type."""
        if depth < 3 and self.dice.random() < 0.45:
            return self.call(self.value(dot, variables, depth + 1), self.value(dot, variables, depth + 1))
        every = {**FIELDS[dot], **CONSTANTS, **{f"${name}": kind for name, kind in variables.items()}}
        if self.root == "messages":
            every["$.Messages"] = "list of message"
        return self.dice.choice(list(every.items()))

    def call(self, first, second):
        (a, kind), (b, other) = [(f"({text})" if " " in text else text, kind) for text, kind in (first, second)]
        choices = [(f"not {a}", "flag"), (f"and {a} {b}", kind if kind == other else "mixed"), (f"or {a} {b}", kind if kind == other else "mixed"), ("print 1 \"a\"", "string")]
        if kind == other and kind in COMPARABLE:
            choices += [(f"{name} {a} {b}", "flag") for name in ("eq", "ne", "lt", "le", "gt", "ge")]
        if kind == "string" or kind.startswith(("list", "map")):
            choices += [(f"len {a}", "integer"), (f"{a} | len", "integer")]
        if kind in ("string", "integer", "flag") and other in ("string", "integer", "flag"):
            choices.append((f"print {a} {b}", "string"))
        if kind == "string":
            choices += [(f"printf \"%s-%v\" {a} {a}", "string"), (f"{a} | printf \"<%s>\"", "string")]
        if kind in ("string", "integer", "flag", "map of value", "list of tool", "value", "map of property"):
            choices.append((f"json {a}", "string"))
        if kind in ("list of message", "list of tool"):
            choices.append((f"slice {a} {self.dice.choice('01')}", kind))
        if kind == "map of value":
            choices.append((f"index {a} \"city\"", "value"))
        return self.dice.choice(choices)

    def block(self, dot, variables, depth, in_range):
        variables, out = dict(variables), ""
        for _ in range(self.dice.randint(1, 4)):
            out += self.dice.choice([self.text, self.output, self.declaration, self.assignment, self.condition, self.with_value, self.loop, self.loop,
                                     self.jump])(dot, variables, depth, in_range)
        return out

    def text(self, dot, variables, depth, in_range):
        return self.dice.choice(TEXTS)

    def output(self, dot, variables, depth, in_range):
        text, kind = self.value(dot, variables)
        return self.action(text) if kind in WRITTEN else ""

    def declaration(self, dot, variables, depth, in_range):
        text, kind = self.value(dot, variables)
        if kind in ("mixed", "nil"):
            return ""
        self.n_names += 1
        name = self.dice.choice(["x", "y", f"v{self.n_names}"])
        variables[name] = kind
        return self.action(f"${name} := {text}")

    def assignment(self, dot, variables, depth, in_range):
        for _ in range(10 if variables else 0):
            name = self.dice.choice(list(variables))
            text, kind = self.value(dot, variables)
            if kind == variables[name]:
                return self.action(f"${name} = {text}")
        return ""

    def otherwise(self, dot, variables, depth, in_range):
        return self.action("else") + self.block(dot, variables, depth - 1, in_range) if self.dice.random() < 0.4 else ""

    def condition(self, dot, variables, depth, in_range):
        if depth == 0:
            return ""
        out = self.action("if " + self.value(dot, variables)[0]) + self.block(dot, variables, depth - 1, in_range)
        if self.dice.random() < 0.4:
            out += self.action("else if " + self.value(dot, variables)[0]) + self.block(dot, variables, depth - 1, in_range)
        return out + self.otherwise(dot, variables, depth, in_range) + self.action("end")

    def with_value(self, dot, variables, depth, in_range):
        text, kind = self.value(dot, variables)
        if depth == 0 or kind not in FIELDS:
            return ""
        return self.action(f"with {text}") + self.block(kind, variables, depth - 1, in_range) + self.otherwise(dot, variables, depth, in_range) + self.action("end")

    def loop(self, dot, variables, depth, in_range):
        for _ in range(6 if depth else 0):
            text, kind = self.value(dot, variables)
            form, _, item = kind.partition(" of ")
            if item not in FIELDS:
                continue
            head = self.dice.choice(["", "$e := ", "$k, $e := "])
            names = {"$e := ": {"e": item}, "$k, $e := ": {"k": "string" if form == "map" else "integer", "e": item}}.get(head, {})
            return (self.action(f"range {head}{text}") + self.block(item, {**variables, **names}, depth - 1, True) +
                    self.otherwise(dot, variables, depth, False) + self.action("end"))
        return ""

    def jump(self, dot, variables, depth, in_range):
        if not in_range:
            return ""
        return self.action("if " + self.value(dot, variables)[0]) + self.action(self.dice.choice(["break", "continue"])) + self.action("end")


def main(arguments):
    count, seed = [int(text) for text in (arguments + ["1000", "1"][len(arguments):])[:2]]
    dice = random.Random(seed)
    templates, pairs = {}, []
    for i in range(count):
        root = dice.choice(["messages", "messages", "turns"])
        end = "{{ len .Messages }}" if root == "messages" else "{{ .Prompt }}{{ .Response }}!"
        templates[str(i)] = Writer(dice, root).block(root, {}, 3, False) + end
        fitting = [name for name, context in cases.CONVERSATIONS.items()
                   if context["messages"] and (root == "messages" or not compare_go_templates.has_calls(context))]
        pairs += [(str(i), name) for name in dice.sample(fitting, 3)]
    outcomes = collections.Counter()
    for (name, conversation), theirs, ours in zip(pairs, *compare_go_templates.render(compare_go_templates.build(), templates, pairs)):
        if "fails" in theirs:
            outcomes["both fail" if "fails" in ours else "only ollama fails"] += 1
        elif "fails" in ours:
            outcomes[ours["error"].split(": ", 1)[1].split(" - ")[0]] += 1
        elif ours == theirs:
            outcomes["equal"] += 1
        elif "(MISSING)" in theirs["expected"]:
            outcomes["ollama cuts the arguments of printf"] += 1
        elif re.search(r"\.Response[^}]*\|", templates[name]):
            outcomes["ollama drops a .Response with a pipe behind it"] += 1
        else:
            outcomes["different"] += 1
            print(f"{templates[name]!r}, {conversation}:\n  ollama {theirs}\n  puna   {ours}")
    print(", ".join(f"{n} {what}" for what, n in outcomes.most_common()))
    return 1 if outcomes["different"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
