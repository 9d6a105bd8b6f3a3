#!/usr/bin/env python3
"""Which files may be compiled together, and which may not."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).with_name("together.py")


def batches(*texts, lines=100):
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.cpp" for i in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text + "\n")
        done = subprocess.run([sys.executable, PROGRAM, str(lines), *paths], capture_output=True, text=True, check=True)
    return done.stdout.split()


class Together(unittest.TestCase):
    def test_files_with_names_of_their_own(self):
        self.assertEqual(batches("int a(int b) {", "constexpr int kB = 1;", "struct C {", "enum class D {"), ["0"] * 4)

    def test_a_name_that_two_define_keeps_them_apart(self):
        for text in ("int same(int b) {", "constexpr int same = 1;", "std::vector<int> same[] = {", "struct same : Base {", "class same {",
                     "enum class same {", "enum same {", "const std::map<int, int> same{"):
            self.assertEqual(batches(text, "static int same() {"), ["0", "1"], text)

    def test_what_is_inside_of_another_is_no_name_of_the_file(self):
        self.assertEqual(batches("void a() {\n  int same = 1;", "void b() {\n  int same = 2;"), ["0", "0"])
        self.assertEqual(batches("template <class Same>\nint a() {", "template <class Same>\nint b() {"), ["0", "0"])

    def test_names_of_others_are_shared_where_they_mean_the_same(self):
        self.assertEqual(batches("using base::Same;", "using base::Same;"), ["0", "0"])
        self.assertEqual(batches("using base::Same;", "using other::Same;"), ["0", "1"])
        self.assertEqual(batches("using Same = A::B;", "using Same = A::B;", "using Same = A::C;"), ["0", "0", "1"])
        self.assertEqual(batches("using base::Same;", "class Same {"), ["0", "1"])

    def test_macros_stay_in_their_file(self):
        self.assertEqual(batches("#define A 1", "int a() {", "# undef B"), ["-", "0", "-"])

    def test_what_allocates_is_by_itself(self):
        self.assertEqual(batches("int a() {", "void* operator new(size_t n) {", "int b() {"), ["0", "-", "0"])

    def test_a_batch_has_so_many_lines(self):
        self.assertEqual(batches("int a() {", "int b() {", "int c() {", lines=2), ["0", "0", "1"])
        self.assertEqual(batches("int a() {\n\n\n", "int b() {", lines=2), ["0", "1"])


if __name__ == "__main__":
    unittest.main()
