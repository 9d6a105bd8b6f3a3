#!/usr/bin/env python3
"""Completions, as a shell uses them, and manual pages.

usage: tests/cli/shells_test.py PUNA
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())


def puna(*args):
    return subprocess.run([PUNA, *args], capture_output=True, text=True, timeout=60)


def commands():
    return [line.split()[0] for line in puna("--help").stdout.split("Subcommands:")[1].splitlines() if line.startswith("  ")]


class Bash(unittest.TestCase):
    def complete(self, line):
        """What bash offers behind a line."""
        script = 'puna() { printf "NAME\\nqwen3:0.6b\\nsmollm2:135m\\n"; }\n' + puna("completions", "bash").stdout
        script += 'COMP_LINE=$1 COMP_POINT=${#1}\n_puna\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
        done = subprocess.run(["bash", "-c", script, "bash", line], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_words(self):
        self.assertEqual(self.complete("puna la"), ["launch"])
        self.assertEqual(set(self.complete("puna ")), {*commands(), "--help", "--version"})
        self.assertIn("--max-tokens", self.complete("puna run m --m"))
        self.assertNotIn("--alias", self.complete("puna run m --"))
        self.assertIn("--alias", self.complete("puna serve --a"))
        self.assertEqual(set(self.complete("puna run m --kv-type q")), {"q8_0", "q4_0"})
        self.assertEqual(self.complete("puna bench --numerics=e"), ["exact"])

    def test_models(self):
        self.assertEqual(self.complete("puna run s"), ["smollm2:135m"])
        self.assertEqual(self.complete("puna run smollm2:1"), ["135m"])
        self.assertEqual(self.complete("puna serve --model qw"), ["qwen3:0.6b"])
        self.assertEqual(self.complete("puna bench --format x"), [])


class Texts(unittest.TestCase):
    def test_other_shells(self):
        for shell in ("zsh", "fish"):
            script = puna("completions", shell)
            self.assertEqual((script.returncode, script.stderr), (0, ""))
            for command in commands():
                self.assertRegex(script.stdout, rf"\b{command}\b")
            self.assertIn("max-tokens", script.stdout)
            if found := shutil.which(shell):
                done = subprocess.run([found, "--no-execute", "/dev/stdin"], input=script.stdout, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
        refused = puna("completions", "bsh")
        self.assertEqual(refused.returncode, 2)
        self.assertIn('did you mean "bash"', refused.stderr)

    def test_manual_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(puna("man", "--output", folder).returncode, 0)
            names = {path.name for path in Path(folder).iterdir()}
            self.assertEqual(names, {"puna.1", *(f"puna-{command}.1" for command in commands())})
            run = (Path(folder) / "puna-run.1").read_text()
            self.assertEqual(run, puna("man", "run").stdout)
            self.assertIn(r"\fB\-n\fR, \fB\-\-max\-tokens\fR", run)
            if not (groff := shutil.which("groff")):
                return
            for name in names:
                done = subprocess.run([groff, "-man", "-ww", "-Tascii", name], cwd=folder, capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        self.assertIn('did you mean "run"', puna("man", "rnu").stderr)
        self.assertEqual(puna("man", "run", "--output", "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
