#!/usr/bin/env python3
"""Compares Puna's tokenizer with Hugging Face `tokenizers` and, for SentencePiece vocabularies, with `sentencepiece`.

usage: pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf gguf
       tools/compare_tokenizers.py MODEL.gguf [TEXT ...] [--command 'build/release/src/cli/puna tokenize --model {model} --no-special -'] [--pre NAME]

Without TEXT a mixed text of 1.2 MB is made: words, every kind of white space, emoji, combining marks, digits of many scripts, punctuation,
and runs of neighbouring code points from all over Unicode. The references are built from the vocabulary in the file, so nothing is
downloaded. Special tokens are plain text on both sides. Exit code 1 at the first token that differs.
"""
import argparse
import random
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CONTROL, USER_DEFINED = 3, 4
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LINES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
APOSTROPHE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
# The pipelines as the models' tokenizer.json files have them: steps before the byte map, and whether whole words that are tokens stand.
DIGITS_GPT2 = [pre_tokenizers.Digits(individual_digits=True), GPT2]
PIPELINES = {
    "gpt-2": ([GPT2], False),
    "smollm": (DIGITS_GPT2, False),
    "refact": (DIGITS_GPT2, False),
    "llama-bpe": ([rf"{APOSTROPHE}|{LEAD}\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{LINES}"], True),
    "qwen2": ([rf"{APOSTROPHE}|{LEAD}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{LINES}"], False),
    "qwen35": ([rf"{APOSTROPHE}|{LEAD}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{LINES}"], False),
    "gpt-4o": ([rf"{LEAD}{UPPER}*{LOWER}+{APOSTROPHE}?|{LEAD}{UPPER}+{LOWER}*{APOSTROPHE}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{LINES}"], False),
    "tekken": ([rf"{LEAD}{UPPER}*{LOWER}+|{LEAD}{UPPER}+{LOWER}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{LINES}"], True),
    "deepseek-v3": ([r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+",
                     r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|""" + LINES], False),
}
SAME = {"default": "gpt-2", "": "gpt-2", "dbrx": "smaug-bpe", "falcon-h1": "llama-bpe", "lfm2": "llama-bpe"}
NFC = {"qwen2", "qwen35"}  # text is brought into NFC first
PIPELINES["smaug-bpe"] = (PIPELINES["llama-bpe"][0], False)


def byte_level_reference(tokens, merges, pre, types=()):
    """encode(text) of Hugging Face's byte-level BPE."""
    steps, whole = PIPELINES[SAME.get(pre, pre)]
    t = Tokenizer(models.BPE(vocab={s: i for i, s in enumerate(tokens)}, merges=[tuple(m.split(" ")) for m in merges], ignore_merges=whole))
    if steps in (PIPELINES["gpt-2"][0], DIGITS_GPT2):  # as their files have it: ByteLevel's own expression
        chain = [s for s in steps if not isinstance(s, str)] + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    else:
        chain = [pre_tokenizers.Split(Regex(s), "isolated") for s in steps] + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    t.pre_tokenizer = pre_tokenizers.Sequence(chain)
    if pre in NFC:
        t.normalizer = normalizers.NFC()
    user = [AddedToken(s, normalized=False, special=False) for s, k in zip(tokens, types) if k == USER_DEFINED]
    t.add_tokens(user)
    return lambda text: t.encode(text, add_special_tokens=False).ids


def sentencepiece_reference(tokens, scores, types, unk, prefix):
    """encode(text) of the sentencepiece library."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as pb
    m = pb.ModelProto()
    for i, (s, score, kind) in enumerate(zip(tokens, scores, types)):
        m.pieces.add(piece=s.replace(" ", "▁"), score=score, type=2 if i == unk else int(kind))
    m.trainer_spec.model_type = pb.TrainerSpec.BPE
    m.trainer_spec.byte_fallback = 6 in types
    m.trainer_spec.unk_id, m.trainer_spec.unk_piece = unk, tokens[unk]
    m.normalizer_spec.name = "identity"
    m.normalizer_spec.add_dummy_prefix = prefix
    m.normalizer_spec.remove_extra_whitespaces = False
    sp = sentencepiece.SentencePieceProcessor(model_proto=m.SerializeToString())
    return lambda text: sp.encode(text)


def sentencepiece_as_hf_reference(tokens, scores, types, unk, prefix):
    """encode(text) of Hugging Face's conversion of a SentencePiece BPE: merges from the scores, byte fallback."""
    pieces = [s.replace(" ", "▁") for s in tokens]
    vocab = {s: i for i, s in enumerate(pieces)}
    text_made = {s for s, k in zip(pieces, types) if k == 1}
    merges = []
    for s in text_made:
        local = [(s[:i], s[i:]) for i in range(1, len(s)) if s[:i] in text_made and s[i:] in text_made]
        merges += [(-scores[vocab[s]], vocab[a], vocab[b], a, b) for a, b in local]
    merges = [(a, b) for *_, a, b in sorted(merges)]
    t = Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True, fuse_unk=True, unk_token=tokens[unk]))
    t.normalizer = normalizers.Sequence(([normalizers.Prepend("▁")] if prefix else []) + [normalizers.Replace(" ", "▁")])
    t.add_tokens([AddedToken(s, normalized=True, special=False) for s, k in zip(pieces, types) if k == USER_DEFINED])
    return lambda text: t.encode(text, add_special_tokens=False).ids


def mixed_text(n_bytes=1_200_000, seed=7):
    r = random.Random(seed)
    words = "the quick brown Fox jumps don't I'LL we've it's Über naïve 3.14 x=1; {a} foo_bar CamelCase HTTPServer 中文 日本語 العربية हिन्दी ไทย".split()
    spaces = [" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\n "] + [chr(c) for c in (0xA0, 0x2003, 0x3000, 0x2028, 0x2029, 0x85, 0x202F, 0x1680, 0xB, 0xC, 0x200B, 0xFEFF, 0x180E)]
    emoji = [chr(c) for c in range(0x1F300, 0x1F6FF)] + ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "❤️", "1️⃣"]
    marks = [chr(c) for c in list(range(0x300, 0x370)) + list(range(0x1AB0, 0x1AC0))]
    digits = "0123456789٠١٢٣۴۵६७०①②½¾ⅣⅧ²³¹߁𝟘𝟙"
    marks_of_text = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¿¡«»“”‘’–—…€£¥°±"
    # Numbers that came with Unicode 17: the Digits step of tokenizers 0.23.3 (Rust's tables) knows them, its expressions (Oniguruma's) do not.
    newer = set(range(0x11DE0, 0x11DEA)) | {0x16FF4, 0x16FF5, 0x16FF6}
    scalars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and c not in newer]
    assigned = [chr(c) for c in scalars if unicodedata.category(chr(c)) != "Cn" or r.random() < 0.02]

    def run():
        start = r.randrange(len(assigned))
        return "".join(assigned[min(len(assigned) - 1, start + r.randint(0, 40))] for _ in range(r.randint(1, 8))) + r.choice(["", " ", "\n", "a", "1", "'s"])

    kinds = [lambda: r.choice(words), lambda: r.choice(words) + " ", lambda: r.choice(spaces) * r.choice([1, 1, 1, 2, 3, 9, 40]),
             lambda: "".join(r.choice(emoji) for _ in range(r.randint(1, 4))),
             lambda: "".join(r.choice("aeiouncZ ") + r.choice(marks) * r.randint(1, 2) for _ in range(r.randint(1, 4))),
             lambda: "".join(r.choice(digits) for _ in range(r.randint(1, 7))), lambda: "".join(r.choice(marks_of_text) for _ in range(r.randint(1, 5))),
             lambda: "'" + r.choice(["s", "S", "ſ", "t", "RE", "ve", "Ll", "d", "x", " s"]), run, run]
    out, size = [], 0
    while size < n_bytes:
        out.append(r.choice(kinds)())
        size += len(out[-1].encode())
    return "".join(out)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("texts", nargs="*", type=Path)
    ap.add_argument("--command", default="build/release/src/cli/puna tokenize --model {model} --no-special -")
    ap.add_argument("--pre", help="use this pre-tokenizer for the reference instead of the file's")
    a = ap.parse_args()
    import gguf
    fields = gguf.GGUFReader(a.model).fields
    get = lambda k, otherwise=None: fields["tokenizer.ggml." + k].contents() if "tokenizer.ggml." + k in fields else otherwise
    tokens, types = get("tokens"), get("token_type", [])
    if get("model") == "gpt2":
        references = {"tokenizers": byte_level_reference(tokens, get("merges"), a.pre or get("pre", ""), types)}
    else:
        args = (tokens, get("scores"), types, get("unknown_token_id", 0), get("add_space_prefix", True))
        references = {"sentencepiece": sentencepiece_reference(*args), "tokenizers": sentencepiece_as_hf_reference(*args)}
    failed = False
    for name, text in [(p.name, p.read_bytes().decode()) for p in a.texts] or [("mixed text", mixed_text())]:
        command = [w.replace("{model}", a.model) for w in shlex.split(a.command)]
        out = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
        ids = [int(w) for w in out.split()]
        for library, encode in references.items():
            want = encode(text)
            at = next((i for i, (x, y) in enumerate(zip(ids, want)) if x != y), min(len(ids), len(want)))
            same = ids == want
            failed |= not same
            print(f"{name}: {len(text.encode()) / 1e6:.2f} MB, {len(want)} tokens of {library}, {len(ids)} of Puna: " + ("equal" if same else f"DIFFER at {at}"))
            if not same:
                show = lambda v: [tokens[i] for i in v[max(0, at - 4):at + 6]]
                print(f"  {library}: {show(want)}\n  Puna: {show(ids)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
