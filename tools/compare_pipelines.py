#!/usr/bin/env python3
"""A property test of tokenizer.json: random pipelines of every component that Hugging Face `tokenizers` has, random vocabularies, random text.

usage: pip install -r tools/requirements.txt tokenizers==0.23.3
       tools/compare_pipelines.py build/release/src/formats/puna_tokenize_lines [--pipelines 1000] [--texts 20] [--seed 1]
       tools/compare_pipelines.py --fixtures tests/fixtures/tokenizer/pipelines.json

Compares ids with and without the post-processor, and decoded text where the library's has no U+FFFD (Puna gives the bytes there). What Puna
refuses by name is counted by its message. Exit code 1 when anything differs. --fixtures writes a small, fixed set for the unit tests.
"""
import argparse
import collections
import json
import random
import re
import subprocess
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

MARK = "▁"
EXPRESSIONS = [
    r"[[:alpha:]]+|[[:space:]]+|[[:digit:]]", r"\p{L}+", r"\s+", r"[^\s\p{L}]+", r"\d{1,3}", r"(?=[A-Z])", r"(?<=\s)\S", r"x*", r"\w+|\W", r"\p{Han}+",
    r"[\p{Lu}\p{Lt}]?\p{Ll}+", r"(?i)the|and", r"(?i:'s|'t|'re)| ?\p{L}+|\s+(?!\S)|\s+", r"(\w)\1", r"\b", r"^.", r".$", r"[a-z&&[^aeiou]]+",
    r"(?>a+)b|c++", r"\h+", r"[[:punct:]]", r"(?:ab|a)(?:c|bcd)?", r"\R", r"(?m).{3}", r"\A\w|\w\z", r"[^[:alnum:][:space:]]", r"\p{^L}", r"a{2}|b{,2}c",
    r"(?<n>e)\k<n>", r"\u0061|\x62|\x{63}", r"(a|b)*?c", r"(?x) l+  # letters", r"\N{2}", r"[\p{P}$+<=>^`|~]", r"\p{N}{1,3}(?=(?:\p{N}{3})*\b)", r"(?<!\d)\d", r"$",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", r"[\w-]+", r"[^\n]+", r"\S", r"(?:\r\n|\n)+", r"e|", r"[]x]",
]
CHARACTERS = ("abcdefghij theABCDE  0123456789 .,!?'\"$+-_<>|#▁Ġ ( ) \t\n\r\n\u00a0\u2003\u3000\u0085\u2028 éüñßİıſKÅ ΑΣςσ привет Ёж "
              "中文字かなカナー한국어 हिन्दी ไทย العربية עברית ₀¹²½Ⅳ٣५߁ 😀👍🏽👩‍👩‍👧🇩🇪❤️1️⃣ \u0301\u0308\u0327\u200b\u200c\u200d\ufeff\u00ad\u0000\u0001\u0007\u007f\u009f\ufffd "
              "ﬁﬂ①Å™…–—“”«»¿¡€£°±×÷ǅǆ𝟘𝐀𠀀\U000e0001\U0010ffff\ue000\u0378 e\u0301 o\u0308 가각").replace("\ufffd", "\ufffd")
WORDS = "the there hello world don't I'LL we've 123 3.14 foo_bar Über naïve HELLO <s> </s> <tool> [SEP] <|im_start|> <|im_sta <unk> ab abc x▁y ##ing".split()


def random_text(r):
    out = []
    for _ in range(r.randint(0, 14)):
        kind = r.random()
        if kind < 0.35:
            out.append(r.choice(WORDS))
        elif kind < 0.5:
            out.append(r.choice([" ", "  ", "\n", "\t", " \n", "   "]))
        elif kind < 0.95:
            out.append("".join(r.choice(CHARACTERS) for _ in range(r.randint(1, 6))))
        else:
            c = r.randrange(0x110000)
            out.append(chr(c if not 0xD800 <= c < 0xE000 else c - 0x800))
    return "".join(out)


BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def pattern(r):
    return Regex(r.choice(EXPRESSIONS)) if r.random() < 0.7 else r.choice([" ", "a", "he", ".", "\n", "  ", "|", "é"])


def random_normalizer(r, charsmap):
    kinds = [normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase, normalizers.StripAccents, normalizers.Nmt,
             normalizers.ByteLevel, lambda: normalizers.Strip(r.random() < 0.5, r.random() < 0.5), lambda: normalizers.Prepend(r.choice([MARK, " ", "ab"])),
             lambda: normalizers.Replace(pattern(r), r.choice(["", "_", " ", "xy", MARK])), lambda: normalizers.Replace(" ", MARK),
             lambda: normalizers.BertNormalizer(*(r.random() < 0.5 for _ in range(2)), r.choice([None, True, False]), r.random() < 0.5)]
    if charsmap:
        kinds.append(lambda: normalizers.Precompiled(charsmap))
    n = r.choice([0, 0, 1, 1, 2, 3])
    parts = [r.choice(kinds)() for _ in range(n)]
    return None if not parts else parts[0] if n == 1 and r.random() < 0.7 else normalizers.Sequence(parts)


def random_pre_tokenizer(r):
    kinds = [lambda: pre_tokenizers.ByteLevel(r.random() < 0.5, True, r.random() < 0.6), pre_tokenizers.Whitespace, pre_tokenizers.WhitespaceSplit,
             lambda: pre_tokenizers.Metaspace(r.choice([MARK, MARK, "_"]), r.choice(["always", "first", "never"]), r.random() < 0.6),
             lambda: pre_tokenizers.Split(pattern(r), r.choice(BEHAVIORS), r.random() < 0.3), lambda: pre_tokenizers.Punctuation(r.choice(BEHAVIORS)),
             lambda: pre_tokenizers.Digits(r.random() < 0.5), lambda: pre_tokenizers.CharDelimiterSplit(r.choice([" ", "a", "中", "."])),
             pre_tokenizers.BertPreTokenizer, pre_tokenizers.UnicodeScripts, lambda: pre_tokenizers.FixedLength(r.randint(1, 6))]
    n = r.choice([0, 1, 1, 2, 2, 3])
    parts = [r.choice(kinds)() for _ in range(n)]
    return None if not parts else parts[0] if n == 1 and r.random() < 0.7 else pre_tokenizers.Sequence(parts)


def cut(normalizer, pre, texts):
    for text in texts:
        text = normalizer.normalize_str(text) if normalizer else text
        for word in ([w for w, _ in pre.pre_tokenize_str(text)] if pre else [text]):
            if word:
                yield word


def random_bpe(r, words, usual=False):
    prefix = r.choice([None, None, None, "##"]) if not usual else None
    suffix = r.choice([None, None, None, "</w>"]) if not usual else None
    fallback = usual == "marks" or not usual and r.random() < 0.3
    vocab = {}
    add = lambda s: vocab.setdefault(s, len(vocab))
    if r.random() < 0.7:
        add("<unk>")
    if fallback:
        for b in range(256):
            if b != 65 or usual or r.random() < 0.7:
                add(f"<0x{b:02X}>")
    if usual == "bytes" or r.random() < 0.4:
        for c in pre_tokenizers.ByteLevel.alphabet():
            add(c)
    split = []
    for word in words:
        piece = [("" if i == 0 else prefix or "") + c + (suffix or "" if i == len(word) - 1 else "") for i, c in enumerate(word)]
        if r.random() < 0.9:
            for s in piece:
                add(s)
            split.append(piece)
    merges = []
    for _ in range(r.randint(0, 60)):
        candidates = [(p, i) for p in split for i in range(len(p) - 1)]
        if not candidates:
            break
        p, i = r.choice(candidates)
        a, b = p[i], p[i + 1]
        joined = a + b[len(prefix or ""):]
        add(joined)
        merges.append((a, b))
        for q in split:
            j = 0
            while j < len(q) - 1:
                if (q[j], q[j + 1]) == (a, b):
                    q[j:j + 2] = [joined]
                j += 1
    if merges and r.random() < 0.1:
        merges.append(merges[0])
    unk = "<unk>" if "<unk>" in vocab and r.random() < 0.85 else None
    given = dict(unk_token=unk, dropout=r.choice([None, None, 0.0]), continuing_subword_prefix=prefix, end_of_word_suffix=suffix)
    return models.BPE(vocab=vocab, merges=merges, fuse_unk=r.random() < 0.5, byte_fallback=fallback, ignore_merges=r.random() < 0.2,
                      **{k: v for k, v in given.items() if v is not None})


def random_pieces(r, words, prefix=""):
    out = {}
    for word in words:
        for _ in range(2):
            at = r.randrange(len(word))
            out.setdefault(("" if at == 0 else prefix) + word[at:at + r.randint(1, 5)])
        if r.random() < 0.6:
            for i, c in enumerate(word):
                out.setdefault(("" if i == 0 else prefix) + c)
    return list(out)


def random_unigram(r, words):
    fallback = r.random() < 0.3
    pieces = ["<unk>"] + ([f"<0x{b:02X}>" for b in range(256) if b != 66 or r.random() < 0.7] if fallback else [])
    pieces += [p for p in random_pieces(r, words) if p not in pieces]
    # Irregular scores, so that no two ways to cut have the same sum but for rounding.
    return models.Unigram([(p, 0.0 if p == "<unk>" else -r.uniform(1, 15)) for p in pieces], 0, fallback)


def random_model(r, words, usual=False):
    words = [w[:40] for w in words][:150]
    kind = {"bytes": 0, "marks": 0, "unigram": 0.6, "bert": 0.8, False: r.random()}[usual]
    if kind < 0.5:
        return random_bpe(r, words, usual)
    if kind < 0.75:
        return random_unigram(r, words)
    pieces = {p: i for i, p in enumerate(["<unk>"] + [p for p in random_pieces(r, words, "##") + words[:20] if p != "<unk>"])}
    vocab = {p: i for i, p in enumerate(pieces)}
    if kind < 0.9:
        return models.WordPiece(vocab, unk_token="<unk>", continuing_subword_prefix="##" if usual else r.choice(["##", ""]), max_input_chars_per_word=100 if usual else r.choice([100, 8]))
    return models.WordLevel(vocab, unk_token="<unk>")


def random_decoder(r):
    kinds = [decoders.ByteLevel, decoders.ByteFallback, decoders.Fuse, lambda: decoders.Metaspace(MARK, r.choice(["always", "never"])),
             lambda: decoders.WordPiece("##", r.random() < 0.5), decoders.BPEDecoder, lambda: decoders.CTC("<pad>", "|", r.random() < 0.5),
             lambda: decoders.Strip(" ", r.randint(0, 2), 0), lambda: decoders.Replace(pattern(r), r.choice(["", " ", "z"])), lambda: decoders.Replace(MARK, " ")]
    n = r.choice([0, 1, 1, 2, 3])
    parts = [r.choice(kinds)() for _ in range(n)]
    return None if not parts else parts[0] if n == 1 else decoders.Sequence(parts)


def usual_steps(r):
    """Steps and a model as most files have them, which Puna has quicker models for."""
    split = lambda: pre_tokenizers.Split(Regex(r.choice(EXPRESSIONS)), "isolated")
    metaspace = lambda: pre_tokenizers.Metaspace(MARK, r.choice(["always", "first", "never"]), r.random() < 0.6)
    kind = r.choice(["bytes", "bytes", "marks", "unigram", "bert"])
    if kind == "bytes":
        before = r.choice([[], [split()], [pre_tokenizers.Digits(True)], [split(), pre_tokenizers.Digits(False)]])
        byte_level = pre_tokenizers.ByteLevel(not before and r.random() < 0.5, True, r.random() < 0.5)
        return kind, r.choice([None, normalizers.NFC(), normalizers.Lowercase()]), pre_tokenizers.Sequence(before + [byte_level])
    if kind == "bert":
        return kind, normalizers.BertNormalizer(True, True, None, r.random() < 0.5), pre_tokenizers.BertPreTokenizer()
    normalizer, pre = r.choice([
        (normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)]), None), (normalizers.Replace(" ", MARK), None),
        (normalizers.Replace(" ", MARK), pre_tokenizers.Split(" ", "merged_with_previous")), (None, metaspace()), (normalizers.NFKC(), metaspace()),
        (None, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace()]))])
    return kind, normalizer, pre


def random_tokenizer(r, charsmap=None):
    usual, normalizer, pre = usual_steps(r) if r.random() < 0.4 else (False, random_normalizer(r, charsmap), random_pre_tokenizer(r))
    words = list(cut(normalizer, pre, [random_text(r) for _ in range(25)])) or ["a"]
    r.shuffle(words)
    t = Tokenizer(random_model(r, words, usual))
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    added = r.sample(["<s>", "</s>", "<tool>", "[SEP]", "<|im_start|>", "the", "ab", " x", "é", "Hello", "中", "  ", "<unk>", "<pad>"], r.randint(0, 6))
    found = set()  # of tokens that look alike once normalized the library takes any, by the order of a hash table
    for content in added:
        alike = normalizer.normalize_str(content) if normalizer else content
        if not alike or alike in found:
            continue
        found.add(alike)
        special = r.random() < 0.5
        token = AddedToken(content, single_word=r.random() < 0.2, lstrip=r.random() < 0.2, rstrip=r.random() < 0.2, normalized=r.random() < 0.4, special=special)
        (t.add_special_tokens if special else t.add_tokens)([token])
    names = [s for s in ("<s>", "</s>", "[SEP]") if t.token_to_id(s) is not None]
    if names:
        pair = lambda: (lambda s: (s, t.token_to_id(s)))(r.choice(names))
        template = lambda: processors.TemplateProcessing(
            single=" ".join([r.choice(names) for _ in range(r.randint(0, 2))] + ["$A"] + [r.choice(names) for _ in range(r.randint(0, 2))]),
            special_tokens=[(s, t.token_to_id(s)) for s in names])
        kinds = [template, lambda: processors.BertProcessing(pair(), pair()), lambda: processors.RobertaProcessing(pair(), pair()), processors.ByteLevel,
                 lambda: processors.Sequence([processors.ByteLevel(), template()])]
        if r.random() < 0.03:
            kinds = [lambda: processors.Sequence([template(), template()])]
        t.post_processor = r.choice(kinds)()
    decoder = None if usual else random_decoder(r)
    if decoder:
        t.decoder = decoder
    return t


class Puna:
    def __init__(self, command):
        self.process = subprocess.Popen([command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def expected(t, text):
    ids = t.encode(text, add_special_tokens=False).ids
    try:
        decoded = t.decode(ids, skip_special_tokens=False) if ids else ""
    except BaseException:  # a decoder of the library that panics
        decoded = None
    return ids, t.encode(text).ids, decoded


def compare(a):
    puna = Puna(a.command)
    counts, refused, differing = collections.Counter(), collections.Counter(), collections.Counter()
    for number in range(a.pipelines):
        r = random.Random(f"{a.seed}.{number}")
        try:
            t = random_tokenizer(r)
        except BaseException as e:
            counts["not made by the library"] += 1
            if a.verbose:
                print(f"{number}: {e!r:.200}")
            continue
        written = json.loads(t.to_str())
        answer = puna.ask({"tokenizer": written})
        if "error" in answer:
            refused[re.sub(r'(expression|merge|token) .*?(has|that)|byte \d+', r"\1 ... \2", answer["error"])[:110]] += 1
            counts["refused"] += 1
            continue
        counts["model " + answer["model"]] += 1
        for _ in range(a.texts):
            text = random_text(r)
            try:
                ids, framed, decoded = expected(t, text)
            except BaseException:  # the library has no id for a word, or panics
                counts["not encoded by the library"] += 1
                continue
            counts["texts"] += 1
            got = puna.ask({"text": text})
            wrong = [k for k, v in (("ids", ids), ("framed", framed)) if got[k] != v]
            if not wrong and decoded is not None and "\ufffd" not in decoded + got["decoded"]:
                counts["decoded"] += 1
                if answer["model"] == "pipeline":
                    wrong += [k for k in ("decoded", ) if got[k] != decoded]
            if wrong:
                differing[wrong[0]] += 1
                if sum(differing.values()) <= a.show:
                    short = {k: written[k] for k in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens")}
                    short["model"] = {k: v for k, v in written["model"].items() if k not in ("vocab", "merges")}
                    want = {"ids": ids, "framed": framed, "decoded": decoded}[wrong[0]]
                    print(f"{number} ({answer['model']}): {wrong}\n  text {ascii(text)}\n  library {want!a}\n  puna    {got[wrong[0]]!a}\n"
                          f"  tokens  {[t.id_to_token(i) for i in ids]!a}\n  {json.dumps(short)}")
    print(f"pipelines {a.pipelines}:", dict(counts))
    for message, n in refused.most_common():
        print(f"  refused {n}: {message}")
    print("differing:", dict(differing))
    return int(bool(differing))


def write_fixtures(path, n_pipelines=60, n_texts=6):
    """The first pipelines of a fixed seed that are small, each with a few texts."""
    out, number = [], 0
    while len(out) < n_pipelines:
        r = random.Random(f"fixtures.{number}")
        number += 1
        try:
            t = random_tokenizer(r)
            written = json.loads(t.to_str())
            if len(json.dumps(written)) > 2500 or json.dumps(written).count('"TemplateProcessing"') > 1:
                continue
            cases = [(text, *expected(t, text)) for text in (random_text(r) for _ in range(n_texts))]
        except BaseException:
            continue
        out.append({"tokenizer": written, "texts": [c[0] for c in cases], "ids": [c[1] for c in cases], "framed": [c[2] for c in cases]})
    with open(path, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(p, separators=(",", ":")) for p in out) + "\n]\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("command", nargs="?", default="build/release/src/formats/puna_tokenize_lines")
    ap.add_argument("--pipelines", type=int, default=1000)
    ap.add_argument("--texts", type=int, default=20)
    ap.add_argument("--seed", default="1")
    ap.add_argument("--show", type=int, default=8, help="how many differences to print")
    ap.add_argument("--fixtures", metavar="FILE")
    ap.add_argument("--verbose", action="store_true")
    a = ap.parse_args()
    if a.fixtures:
        return write_fixtures(a.fixtures)
    return compare(a)


if __name__ == "__main__":
    sys.exit(main())
