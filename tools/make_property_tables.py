#!/usr/bin/env python3
"""Writes src/tokenizer/regex/property_data.cpp, the code points of each property and POSIX class of a regular expression, and
src/tokenizer/pipeline/script_data.cpp, the scripts that the step UnicodeScripts tells apart.

usage: pip install tokenizers==0.23.3 && tools/make_property_tables.py [--check]

The expressions of Hugging Face `tokenizers` run on Oniguruma, so it is asked itself, for all code points at once: a Split that removes what
matches leaves the gaps. Small letters and capitals that fold together come from Python's own tables (folds to one character only).
With --check nothing is written; the exit code is 1 when a committed file differs.
"""
import sys
from collections import defaultdict
from pathlib import Path

from tokenizers import Regex, pre_tokenizers

# Blocks whose inner characters are all alike, as the first of them.
ALIKE = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xD800, 0xDFFF), (0xE000, 0xF8FF), (0x13460, 0x143FA), (0x17000, 0x187F7),
         (0x20000, 0x2A6DF), (0x2A700, 0x2B739), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1), (0x2CEB0, 0x2EBE0), (0x2EBF0, 0x2EE5D),
         (0x30000, 0x3134A), (0x31350, 0x323AF), (0x323B0, 0xDFFFF), (0xE0200, 0xEFFFF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)]
POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and not any(low < c <= high for low, high in ALIKE)]
SCALARS = "".join(map(chr, POINTS))
LAST = dict(zip(POINTS, [c - 1 for c in POINTS[1:]] + [0x10FFFF]))  # of the characters that are alike
CATEGORIES = "L Lu Ll Lt Lm Lo LC M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cn Co".split()
BINARY = "Alphabetic Uppercase Lowercase White_Space Emoji Extended_Pictographic ID_Start ID_Continue Any".split()
SCRIPTS = ("Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille "
           "Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot "
           "Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian "
           "Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew "
           "Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li "
           "Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani "
           "Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive "
           "Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu "
           "Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian "
           "Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi "
           "Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar "
           "Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta "
           "Todhri Toto Tulu_Tigalari Ugaritic Unknown Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square").split()
POSIX = "alnum alpha blank cntrl digit graph lower print punct space upper xdigit word ascii".split()


def ranges(step):
    """(low, high) of the code points that `step`, which removes what it finds, takes out of SCALARS."""
    gaps = [span for _, span in step.pre_tokenize_str(SCALARS)] + [(len(SCALARS), len(SCALARS))]
    out, at = [], 0
    for begin, end in gaps:
        if begin > at:
            out += of_points(SCALARS[at:begin])
        at = end
    return out


def tables():
    out = {}
    for name in CATEGORIES + BINARY + SCRIPTS:
        try:
            out[name] = ranges(pre_tokenizers.Split(Regex(r"\p{%s}+" % name), "removed"))
        except Exception as e:  # this Oniguruma has no such property
            print(f"{name}: {e}", file=sys.stderr)
    for name in POSIX:
        out["posix:" + name] = ranges(pre_tokenizers.Split(Regex("[[:%s:]]+" % name), "removed"))
    # Escapes: \\w knows more numbers than [[:word:]].
    for letter in "wdsh":
        out["escape:" + letter] = ranges(pre_tokenizers.Split(Regex(r"\%s+" % letter), "removed"))
    # Rust's own tables, which the library's steps without an expression use.
    out["rust:numeric"], out["rust:word"] = numeric(), word()
    out["cluster:after"], out["cluster:before"] = clusters()
    return out


def numeric():
    """What the step Digits takes for a digit: it does not stay with the letter before it."""
    pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str("".join("a" + c for c in SCALARS))
    whole = "".join(s for s, _ in pieces)
    starts = {begin for _, (begin, _) in pieces}
    return of_points(whole[i] for i in range(1, len(whole), 2) if i in starts)


def of_points(chars):
    out = []
    for c in sorted(map(ord, chars)):
        if out and out[-1][1] == c - 1:
            out[-1][1] = LAST[c]
        else:
            out.append([c, LAST[c]])
    return [tuple(r) for r in out]


def word():
    """What the step Whitespace takes for a part of a word: it stays with a letter beside it."""
    step = pre_tokenizers.Whitespace()
    pieces = step.pre_tokenize_str("".join(" a" + c for c in SCALARS))
    return of_points(s[1:] for s, _ in pieces if len(s) == 2 and s[0] == "a")


def clusters():
    """Characters that a cluster of others goes on with, and that begin one with what follows."""
    step = pre_tokenizers.Split(Regex(r"\X"), "isolated")
    after, before = [], []
    for c in SCALARS:
        if c in "\r\n" or 0xAC00 <= ord(c) <= 0xD7A3 or 0x1100 <= ord(c) < 0x1200:
            continue
        s = step.pre_tokenize_str("a" + c)
        if len(s) == 1:
            after.append(c)
        elif len(step.pre_tokenize_str(c + "a")) == 1:
            before.append(c)
    return of_points(after), of_points(before)


def folds():
    """Groups of single characters that are one but for case."""
    groups = defaultdict(set)
    for c in map(chr, (*range(0xD800), *range(0xE000, 0x20000))):
        for to in {c.casefold(), c.lower(), c.upper().lower(), c.upper().casefold()}:
            if len(to) == 1 and to != c:
                groups[to] |= {to, c}
    merged = []
    for group in groups.values():
        same = [m for m in merged if m & group]
        merged = [m for m in merged if not m & group] + [set.union(group, *same)]
    return sorted(sorted(map(ord, m)) for m in merged)


def scripts():
    """(low, high, script) for runs of characters that the step UnicodeScripts does not cut between; some belong to any script."""
    pieces = lambda text: pre_tokenizers.UnicodeScripts().pre_tokenize_str(text)
    known, out, last = [], [], None
    for c in SCALARS:
        if not pieces(c):
            last = None
            continue
        if last is not None and len(pieces(last + c)) == 1 and ord(c) == out[-1][1] + 1:
            out[-1][1] = LAST[ord(c)]
        else:
            script = next((i for i, k in enumerate(known) if len(pieces(k + c)) == 1), len(known))
            if script == len(known):
                known.append(c)
            out.append([ord(c), LAST[ord(c)], script])
        last = c
    return out


def script_text():
    rows = ["{%d,%d,%d}" % tuple(r) for r in scripts()]
    return f"""// Generated by tools/make_property_tables.py from Hugging Face tokenizers; do not edit.
#include "tokenizer/pipeline/scripts.h"

namespace puna::tokenizer::detail {{

// clang-format off
const ScriptRange kScripts[{len(rows)}] = {{
{lines(rows, 8)}
}};
const uint32_t kScriptCount = {len(rows)};
// clang-format on

}}  // namespace puna::tokenizer::detail
"""


def lines(items, n):
    return "\n".join("    " + "".join(f"{v}," for v in items[i:i + n]) for i in range(0, len(items), n))


def leb(value):
    out = []
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return out + [value]


def text():
    data, rows = [], []
    for name, spans in tables().items():
        at, begin = 0, len(data)
        for low, high in spans:
            data += leb(low - at) + leb(high - low)
            at = high + 1
        rows.append((name, begin, len(data) - begin))
    pairs = [(group[i], group[(i + 1) % len(group)]) for group in folds() for i in range(len(group))]
    return f"""// Generated by tools/make_property_tables.py from Hugging Face tokenizers; do not edit.
#include "tokenizer/regex/char_set.h"

namespace puna::tokenizer::detail {{

// clang-format off
const uint8_t kPropertyBytes[{len(data)}] = {{
{lines(data, 40)}
}};
const PropertyRow kProperties[{len(rows)}] = {{
{lines(['{"%s",%d,%d}' % r for r in rows], 3)}
}};
const uint32_t kPropertyCount = {len(rows)};
const FoldPair kFolds[{len(pairs)}] = {{
{lines(['{%d,%d}' % p for p in sorted(pairs)], 10)}
}};
const uint32_t kFoldCount = {len(pairs)};
// clang-format on

}}  // namespace puna::tokenizer::detail
"""


def main():
    root = Path(__file__).resolve().parent.parent / "src/tokenizer"
    new = {root / "regex/property_data.cpp": text(), root / "pipeline/script_data.cpp": script_text()}
    if "--check" in sys.argv[1:]:
        sys.exit(any(path.read_text() != data for path, data in new.items()))
    for path, data in new.items():
        path.write_text(data)


if __name__ == "__main__":
    main()
