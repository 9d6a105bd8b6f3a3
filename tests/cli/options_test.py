#!/usr/bin/env python3
"""Finds the options of every command in its --help and gives them bad values: exit code 2, one line that names option and value.

usage: tests/cli/options_test.py PUNA
"""
import os
import re
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
# "  -n,--max-tokens INT=5    What it is (0 to 9)"
OPTION = re.compile(r"^  (?:-\w,)?(--[\w-]+)(?: ([A-Z]+)(,\.\.\.)?)?\S*\s+(.*)$", re.M)
NO_NUMBERS = ["", "x", "1x", "1 ", " 1", "0x10", "--1", "nan", "inf", "1e999", "1" + "0" * 400, "½"]
# A start takes a tenth of a second with sanitizers, and there are 1,500: there one of so many is made, of each option another.
ONE_OF = 5 if os.environ.get("PUNA_SANITIZE") else 1
# Options whose empty value means something: no system message, no filter.
MAY_BE_EMPTY = {"--system", "--filter"}


def run(*args):
    return subprocess.run([PUNA, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        listed = run("--help").stdout.split("Subcommands:")[1]
        cls.help = {name: run(name, "--help").stdout for name in re.findall(r"^  (\w+)", listed, re.M)}

    def check_refused(self, calls):
        """Each call (words, option, value) is wrong usage, said before any model is looked for."""
        calls = calls[::ONE_OF]
        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(lambda call: run(*call[0]), calls))
        for (words, option, value), result in zip(calls, done):
            with self.subTest(words=words):
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertRegex(result.stderr, r"\Aerror: [^\n]*\n\Z")
                self.assertIn(option, result.stderr)
                self.assertIn(value[:20], result.stderr)

    def numbers(self):
        for command, text in self.help.items():
            for option, kind, many, rest in OPTION.findall(text):
                if kind in ("INT", "FLOAT"):
                    yield command, option, kind, rest

    def test_values_that_are_no_numbers(self):
        calls = []
        for command, option, kind, _ in self.numbers():
            calls += [([command, f"{option}", value], option, value) for value in NO_NUMBERS if not value.startswith("--")]
            if kind == "INT":
                calls.append(([command, option, "1.5"], option, "1.5"))
        self.assertGreater(len(calls), 400)
        self.check_refused(calls)

    def test_values_beyond_the_range_that_help_gives(self):
        calls = []
        for command, option, kind, rest in self.numbers():
            low, high = re.search(r"\((-?[\d.e+]+) to ([\d.e+]+)\)$", rest).groups()
            less = str(int(low) - 1) if kind == "INT" else str(float(low) - 0.001)
            more = str(int(high) + 1) if kind == "INT" else str(float(high) + 1)
            calls += [([command, f"{option}={value}"], option, f'"{value}", but') for value in (less, more)]
            calls += [([command, option, less], option, f'"{less}", but')]
        self.assertGreater(len(calls), 100)
        self.check_refused(calls)

    def test_empty_values(self):
        calls = []
        for command, text in self.help.items():
            for option, kind, _, _ in OPTION.findall(text):
                if kind and option not in MAY_BE_EMPTY:
                    calls += [([command, option, ""], option, ""), ([command, f"{option}="], option, "")]
            arguments = re.search(r"^Usage: .*\[OPTIONS\](.*)$", text, re.M).group(1).split()
            if arguments and arguments[0] in ("MODEL", "IN", "DIR"):
                calls.append(([command, ""], arguments[0], ""))
        self.assertGreater(len(calls), 100)
        self.check_refused(calls)

    def test_help_says_how_the_program_is_called(self):
        self.assertTrue(all(f"\nUsage: puna {name} " in text for name, text in self.help.items()))


if __name__ == "__main__":
    unittest.main()
