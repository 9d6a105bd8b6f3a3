#!/usr/bin/env python3
"""Tests tools/check_layers on small made-up checkouts."""
import importlib.machinery
import importlib.util
import tempfile
import unittest
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("check_layers", str(Path(__file__).with_name("check_layers")))
check_layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
loader.exec_module(check_layers)


class CheckLayers(unittest.TestCase):
    def offences(self, files, readme="A room.\n"):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = Path(root) / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                room = Path(root) / "src" / name.split("/")[0]
                if readme is not None:
                    (room / "README.md").write_text(readme)
                (room / "CMakeLists.txt").touch()
            return list(check_layers.check(root))

    def test_lower_rooms_may_be_used(self):
        self.assertEqual(self.offences({"plan/a.cpp": '#include "base/result.h"\n#include "plan/a.h"\n#include "b.h"\n'}), [])

    def test_a_room_above_is_refused_with_file_and_line(self):
        (offence,) = self.offences({"base/a.cpp": '\n#include "engine/kv.h"\n'})
        self.assertEqual(offence, 'src/base/a.cpp:2: room base uses "engine/kv.h", but engine is above it')

    def test_rooms_on_one_line_do_not_use_each_other(self):
        (offence,) = self.offences({"io/a.cpp": '#include "quant/quant.h"\n'})
        self.assertIn("same line", offence)

    def test_tests_obey_the_same_rule(self):
        self.assertEqual(len(self.offences({"io/a_test.cpp": '#include "quant/quant.h"\n'})), 1)

    def test_unknown_paths_and_rooms_are_named(self):
        (offence,) = self.offences({"io/a.cpp": '#include "nowhere/x.h"\n'})
        self.assertIn("nowhere/x.h", offence)
        (offence,) = self.offences({"attic/a.cpp": ""})
        self.assertIn("attic", offence)

    def test_the_json_library_stays_in_its_file(self):
        self.assertEqual(self.offences({"base/json.cpp": "#include <nlohmann/json.hpp>\n"}), [])
        (offence,) = self.offences({"base/log.cpp": "#include <nlohmann/json.hpp>\n"})
        self.assertIn("base/log.cpp:1", offence)

    def test_setjmp_stays_in_its_file(self):
        text = "#include <csetjmp>\nint f(std::jmp_buf& b) { return setjmp(b); }\n"
        self.assertEqual(self.offences({"media/jpeg.cpp": text}), [])
        (offence,) = self.offences({"media/png.cpp": text})
        self.assertIn("media/png.cpp:2", offence)

    def test_core_rooms_neither_throw_nor_catch(self):
        text = '// try { to be kind\nconst char* s = "throw";\nvoid f() {\n  try { g(); } catch (...) {}\n}\n'
        offences = self.offences({"engine/a.cpp": text, "gpu/native/b.cpp": text, "cli/c.cpp": text})
        self.assertEqual([o.split(": ")[0] for o in offences], ["src/engine/a.cpp:4"] * 2)

    def test_a_readme_is_there_and_short(self):
        self.assertIn("no README.md", self.offences({"io/a.h": ""}, readme=None)[0])
        self.assertIn("longer than 15", self.offences({"io/a.h": ""}, readme="x\n" * 16)[0])


if __name__ == "__main__":
    unittest.main()
