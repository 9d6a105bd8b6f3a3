#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_data.cpp, the class of every code point, and normal_data.cpp, what normal forms and BERT's steps need.

usage: pip install unicodedata2==16.0.0 tokenizers==0.23.3 && tools/make_unicode_tables.py [--check]

Unicode 16.0 is what Hugging Face `tokenizers` 0.23 splits by (its expressions run on Oniguruma 6.9.10; every code point was compared).
Its normalizers use older tables of several versions (normal forms: 12.0, accents and punctuation of BERT: 8.0), so those are asked from the library
itself, code point by code point; canonical classes and compositions are Unicode 16.0's as far as the library applies them.
With --check nothing is written; the exit code is 1 when a committed file differs.
"""
import sys
from pathlib import Path

import unicodedata2
from tokenizers import normalizers, pre_tokenizers

VERSION = "16.0.0"
BLOCK = 128  # code points to a block: 64 bytes of data, and 8704 one-byte block numbers
# The order of puna::tokenizer::CharClass. Zl and Zp count as separators, whatever is not named is kOther.
CLASSES = {"Lu": 1, "Ll": 2, "Lt": 3, "Lm": 4, "Lo": 5, "M": 6, "N": 7, "P": 8, "S": 9, "Z": 10}
SPACE_CONTROL = 11  # control characters with the property White_Space
SPACE_CONTROLS = {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85}


def class_of(code_point):
    if code_point in SPACE_CONTROLS:
        return SPACE_CONTROL
    category = unicodedata2.category(chr(code_point))
    return CLASSES.get(category, CLASSES.get(category[0], 0))


def rows(values, per_row):
    return "\n".join("    " + "".join(f"{v}," for v in values[i:i + per_row]) for i in range(0, len(values), per_row))


SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HANGUL = range(0xAC00, 0xAC00 + 11172)  # decomposed by arithmetic
# Bits of puna::tokenizer::detail::TextFlags.
NFC, NFD, NFKC, NFKD, MARK, BERT_ACCENT, BERT_PUNCTUATION, BERT_CONTROL = (1 << i for i in range(8))


class Library:
    """What the reference library does to single code points."""

    def __init__(self):
        bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
        apply = lambda n: {c: n.normalize_str(chr(c)) for c in SCALARS}
        self.nfd, self.nfkd = apply(normalizers.NFD()), apply(normalizers.NFKD())
        self.nfc, self.nfkc = apply(normalizers.NFC()), apply(normalizers.NFKC())
        self.lower = apply(normalizers.Lowercase())
        self.marks = {c for c, s in apply(normalizers.StripAccents()).items() if s == ""}
        self.accents = {c for c, s in apply(normalizers.BertNormalizer(**{**bert, "strip_accents": True})).items() if s == ""}
        self.controls = {c for c, s in apply(normalizers.BertNormalizer(**{**bert, "clean_text": True})).items() if s == ""}
        split = pre_tokenizers.BertPreTokenizer()
        self.punctuation = {c for c in SCALARS if len(split.pre_tokenize_str("a" + chr(c) + "b")) == 3}
        order = normalizers.NFD()
        # U+0345 has the highest class, 240: a mark that the library knows moves in front of it.
        moved = lambda c: order.normalize_str("a\u0345" + chr(c)) != "a\u0345" + chr(c)
        self.classes = {c: k for c in SCALARS if (k := unicodedata2.combining(chr(c))) and (c == 0x345 or moved(c))}
        compose = normalizers.NFC()
        self.compositions = {}
        for c in SCALARS:
            parts = unicodedata2.decomposition(chr(c)).split()
            if len(parts) == 2 and "<" not in parts[0] and compose.normalize_str(pair := "".join(chr(int(p, 16)) for p in parts)) == chr(c) != pair:
                self.compositions[tuple(int(p, 16) for p in parts)] = c


def flags_of(c, lib, joins):
    s = chr(c)
    unsafe = c in lib.classes or c in joins
    return (NFC * (unsafe or lib.nfc[c] != s) | NFKC * (unsafe or lib.nfkc[c] != s) | NFD * (c in lib.classes or lib.nfd[c] != s) |
            NFKD * (c in lib.classes or lib.nfkd[c] != s) | MARK * (c in lib.marks) | BERT_ACCENT * (c in lib.accents) |
            BERT_PUNCTUATION * (c in lib.punctuation) | BERT_CONTROL * (c in lib.controls))


def ranges_of(values):
    """(low, high, value) for runs of neighbouring keys with one value."""
    out = []
    for c in sorted(values):
        if out and out[-1][1] == c - 1 and out[-1][2] == values[c]:
            out[-1][1] = c
        else:
            out.append([c, c, values[c]])
    return out


def normal_data():
    lib = Library()
    joins = {second for _, second in lib.compositions} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    blocks, numbers = {}, []
    for start in range(0, 0x110000, BLOCK):
        numbers.append(blocks.setdefault(tuple(0 if 0xD800 <= c < 0xE000 else flags_of(c, lib, joins) for c in range(start, start + BLOCK)), len(blocks)))
    assert len(blocks) <= 256
    pool, entries = "", []
    for compatible, table in ((0, lib.nfd), (1, lib.nfkd)):
        for c in SCALARS:
            to = table[c]
            if to == chr(c) or c in HANGUL or (compatible and to == lib.nfd[c]):
                continue
            at = pool.find(to)
            if at < 0:
                at, pool = len(pool), pool + to
            entries.append((c, at, compatible, len(to)))
    entries.sort(key=lambda e: (e[0], e[2]))
    lower = {c: ord(s) for c, s in lib.lower.items() if len(s) == 1 and ord(s) != c}
    assert [c for c, s in lib.lower.items() if len(s) != 1] == [0x130] and lib.lower[0x130] == "i\u0307"
    steps = []  # runs with one distance to the small letter, by steps of 1 or 2 code points
    for c in sorted(lower):
        run = steps[-1] if steps else None
        if run and lower[c] - c == run[2] and run[0] < c and c - run[1] in (1, 2) and (run[3] in (0, c - run[1])):
            run[1], run[3] = c, c - run[1]
        else:
            steps.append([c, c, lower[c] - c, 0])
    data = [b for block in blocks for b in block]
    braces = lambda items: rows(["{" + ",".join(str(v) for v in item) + "}" for item in items], 8)
    return f"""// Generated by tools/make_unicode_tables.py from Hugging Face tokenizers and Unicode {VERSION}; do not edit.
#include "tokenizer/normal_form.h"

namespace puna::tokenizer::detail {{

// clang-format off
const uint8_t kFlagBlockOfCodePoint[{len(numbers)}] = {{
{rows(numbers, 24)}
}};

const uint8_t kFlagsOfBlock[{len(data)}] = {{
{rows(data, 24)}
}};

const CombiningRange kCombining[{len(r := ranges_of(lib.classes))}] = {{
{braces(r)}
}};
const uint32_t kCombiningCount = {len(r)};

const Decomposition kDecompositions[{len(entries)}] = {{
{braces(entries)}
}};
const uint32_t kDecompositionCount = {len(entries)};

const char32_t kDecomposed[{len(pool)}] = {{
{rows([ord(c) for c in pool], 16)}
}};

const Composition kCompositions[{len(lib.compositions)}] = {{
{braces((a, b, c) for (a, b), c in sorted(lib.compositions.items()))}
}};
const uint32_t kCompositionCount = {len(lib.compositions)};

const LowerRange kLower[{len(steps)}] = {{
{braces((a, b, d, max(step, 1)) for a, b, d, step in steps)}
}};
const uint32_t kLowerCount = {len(steps)};
// clang-format on

}}  // namespace puna::tokenizer::detail
"""


def main():
    if unicodedata2.unidata_version != VERSION:
        sys.exit(f"unicodedata2 holds Unicode {unicodedata2.unidata_version}, but {VERSION} is wanted")
    blocks, numbers = {}, []
    for start in range(0, 0x110000, BLOCK):
        classes = [class_of(c) for c in range(start, start + BLOCK)]
        packed = tuple(classes[i] | classes[i + 1] << 4 for i in range(0, BLOCK, 2))
        numbers.append(blocks.setdefault(packed, len(blocks)))
    assert len(blocks) <= 256
    data = [byte for block in blocks for byte in block]
    classes = f"""// Generated by tools/make_unicode_tables.py from Unicode {VERSION}; do not edit.
#include "tokenizer/unicode.h"

namespace puna::tokenizer::detail {{

// clang-format off
const uint8_t kBlockOfCodePoint[{len(numbers)}] = {{
{rows(numbers, 24)}
}};

const uint8_t kClassesOfBlock[{len(data)}] = {{
{rows(data, 24)}
}};
// clang-format on

}}  // namespace puna::tokenizer::detail
"""
    failed = False
    for name, text in (("unicode_data.cpp", classes), ("normal_data.cpp", normal_data())):
        path = Path(__file__).resolve().parent.parent / "src/tokenizer" / name
        if "--check" not in sys.argv:
            path.write_text(text)
            print(f"{path.name}: {len(text)} characters")
        elif path.read_text() != text:
            print(f"{path.name} is not what {Path(__file__).name} writes", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
