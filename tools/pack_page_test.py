#!/usr/bin/env python3
"""Tests tools/pack_page on small made-up pages."""
import base64
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

PACK = str(Path(__file__).with_name("pack_page"))
INDEX = b"<!doctype html><style>a{}</style><script>one()</script><script src=x.js></script><script type=module>two()</script>"
LONG = b"console.log('the same again');\n" * 100


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text).digest()).decode() + "'"


class PackPage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def page(self, files, name="page"):
        for path, content in {"index.html": INDEX, **files}.items():
            (self.root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name / path).write_bytes(content)
        return self.root / name

    def pack(self, source, *args, out="out"):
        return subprocess.run([sys.executable, PACK, source, *(args or [self.root / out])], capture_output=True, text=True)

    def rows(self, source, out="out"):
        """{path: [type, hash, scripts, styles, immutable, length, plain, gzip, brotli]} as packed."""
        done = self.pack(source, out=out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        packed = (self.root / out / "page.pack").read_bytes()

        def form(text):
            at = re.fullmatch(r"\{\w+ \+ (\d+), (\d+)\}", text)
            return packed[int(at[1]):int(at[1]) + int(at[2])] if at else None

        row = re.compile(r'\{"([^"]+)", "([^"]+)", "(\w+)",\s+"([^"]*)", "([^"]*)", (\w+), (\d+),\s+(\{.*?\}), (\{.*?\}), (\{.*?\})\}')
        found = row.findall((self.root / out / "page_files.cpp").read_text())
        return {path: [*rest[:6], *map(form, rest[6:])] for path, *rest in found}

    def test_files_have_their_forms(self):
        brotli = b"shorter"
        rows = self.rows(self.page({"_app/immutable/a.js": LONG, "_app/immutable/a.js.br": brotli, "x.woff2": b"\x01\x02", "a.js.map": b"{}"}))
        self.assertEqual(list(rows), ["/_app/immutable/a.js", "/index.html", "/x.woff2"])
        kind, _, _, _, immutable, length, plain, gzipped, br = rows["/_app/immutable/a.js"]
        self.assertEqual((kind, immutable, int(length), plain, br), ("text/javascript; charset=utf-8", "true", len(LONG), None, brotli))
        self.assertEqual(gzip.decompress(gzipped), LONG)
        self.assertEqual(rows["/x.woff2"][5:], ["2", b"\x01\x02", None, None])
        self.assertEqual(rows["/index.html"][4], "false")

    def test_scripts_and_styles_of_documents_are_named(self):
        row = self.rows(self.page({}))["/index.html"]
        self.assertEqual(row[2:4], [f"{digest(b'one()')} {digest(b'two()')}", digest(b"a{}")])

    def test_a_given_compressed_form_is_taken_and_checked(self):
        given = gzip.compress(LONG, compresslevel=1, mtime=7)
        self.assertEqual(self.rows(self.page({"a.css": LONG, "a.css.gz": given}))["/a.css"][7], given)
        done = self.pack(self.page({"a.css.gz": gzip.compress(b"other")}))
        self.assertEqual(done.returncode, 1)
        self.assertIn('"/a.css.gz"', done.stderr)

    def test_an_archive_gives_the_same_as_its_folder_always(self):
        page = self.page({"a.js": LONG, "_app/b.css": LONG, ".nojekyll": b""})
        for name in ["one.tar", "two.tar"]:
            self.assertEqual(self.pack(page, "--archive", self.root / name).returncode, 0)
        self.assertEqual((self.root / "one.tar").read_bytes(), (self.root / "two.tar").read_bytes())
        self.rows(page)
        self.rows(self.root / "one.tar", out="from_tar")
        for name in ["page.pack", "page_files.cpp", "page_bytes.S"]:
            self.assertEqual((self.root / "out" / name).read_bytes(), (self.root / "from_tar" / name).read_bytes())
        self.assertNotIn("nojekyll", (self.root / "out/page_files.cpp").read_text())

    def test_names_may_begin_as_hashes_do(self):
        self.assertIn("/_app/-bZ3_x.js", self.rows(self.page({"_app/-bZ3_x.js": LONG})))

    def test_what_is_no_page_is_refused(self):
        (self.root / "empty").mkdir()
        (self.root / "text").write_text("no archive")
        for source, said in [("empty", "index.html"), ("text", "text"), ("nowhere", "nowhere"), (self.page({"a b.js": b""}, "spaces"), '"/a b.js"'),
                             (self.page({'a".js': b""}, "quotes"), "no path")]:
            done = self.pack(self.root / source)
            self.assertEqual(done.returncode, 1, source)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_an_archive_with_hostile_members_is_refused(self):
        for name, kind in [("../../x.js", tarfile.REGTYPE), ("a/../x.js", tarfile.REGTYPE), ("/etc/x.js", tarfile.REGTYPE), ("x.js", tarfile.SYMTYPE),
                           ("x.js", tarfile.LNKTYPE), ("x.js", tarfile.FIFOTYPE)]:
            with tarfile.open(self.root / "bad.tar", "w") as archive:
                index = tarfile.TarInfo("index.html")
                index.size = len(INDEX)
                archive.addfile(index, io.BytesIO(INDEX))
                member = tarfile.TarInfo(name)
                member.type, member.linkname = kind, "/etc/passwd"
                archive.addfile(member)
            done = self.pack(self.root / "bad.tar")
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(name, done.stderr)


if __name__ == "__main__":
    unittest.main()
