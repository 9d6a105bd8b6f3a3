#!/usr/bin/env python3
"""Writes tests/fixtures/tokenizer/*.json: two small vocabularies, odd texts, and the ids that the reference libraries give for them.

usage: pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf && tools/make_tokenizer_fixtures.py

A file holds a vocabulary as GGUF would (tokens, types, scores or merges, special ids), `texts`, and `variants`: settings that
change the result, each with one list of ids for every text.
"""
import io
import json
import math
import random
import tempfile
from collections import Counter
from pathlib import Path

import sentencepiece
from compare_tokenizers import PIPELINES, byte_level_reference, mixed_text, sentencepiece_reference
from sentencepiece import sentencepiece_model_pb2 as pb
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
OUT = Path(__file__).resolve().parent.parent / "tests/fixtures/tokenizer"

PROSE = """A tokenizer cuts text into pieces that a model has numbers for. It doesn't know words; it knows which pairs of pieces stood
together most often. The rain in Spain stays mainly in the plain, and we'll see 12 or 1234 more examples in 2024, 3.14 times as many.
Don't they'RE I'm it's you've we'd SHE'LL THAT'S. Whitespace   matters\tas do\r\nline ends.\n\n\nThe end of the beginning, there and then.
def add(self, left: int, right: int) -> int:\n    \"\"\"Adds.\"\"\"\n    if left == 0 and right != 100:\n        return right  # nothing to do\n    return left + right\n
for (size_t i = 0; i < n; ++i) { out[i] += static_cast<float>(in[i]) * 0.5f; }\n\t\tprintf("%d\\n", x);\n
Über Äpfel naïve café straße. Ça va? Où est-ce? ¿Qué tal? Привет, мир! Как дела? Γειά σου Κόσμε. こんにちは世界。日本語のテキストです。你好，世界！中文文本。
안녕하세요 세계. مرحبا بالعالم. هذا نص عربي. שלום עולם. नमस्ते दुनिया। สวัสดีชาวโลก 😀 😂 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ❤️ """

TEXTS = [
    "", " ", "  ", "   ", "\n", "\n\n", " \n", "\n ", "\t", "\r\n", "\r\n\r\n", " a", "a ", "  a", "a  b", "a   b ", "a\n b", "a \n b", "a\n\n\nb",
    "x" + " " * 40 + "y", " " * 70, "\n" * 40, " \n" * 9, "\t\t\tx\t y", "a\u00a0b", "a \u3000 b", "a\u2028b\u2029c", "\u0085 a", "a\u200bb", "\ufeffa", "\v\f x",
    "Don't they'RE I'm it's you've we'd SHE'LL THAT'S", "'s's 's ''s 'S 'ſ 'x '", "x'll'll", "'", "''''",
    "1", "12", "123", "1234", "12345678", "a1b22c333d4444", " 1 22 333", "3.14159", "1,000,000", "٠١٢٣ ०१२ ½¾ ⅣⅧ ²³ 𝟘𝟙𝟚", "x1'2",
    "HTTPServer camelCase XMLHttpRequest ABCdef abcDEF ǅungla ʰaʰ", "foo_bar-baz/qux.txt //path //", "!!! ??? ... -- == != <<= >>>", "a!b ?c $d #e",
    "!\n\n?\r\n.\n x", "(a)[b]{c}<d>", "`code` ~~ ^^ | \\ \"q\"", "€5 £6 ±7 ¥8 a°b",
    "e\u0301 n\u0303o \u0301x a\u0300\u0301\u0302", "क्षि र्क हिन्दी", "ไทยภาษา", "العَرَبِيَّة", "שָׁלוֹם",
    "中文 日本語テキスト ひらがな カタカナ 한국어", "中a文1字 カ,タ", "漢字かな交じり文。句読点、テスト！", "😀", "😀😂", "👩‍👩‍👧‍👦 👍🏽🏳️‍🌈🇩🇪❤️1️⃣", "a😀b 😀 c",
    "\u0378\U000E0001\uE000", "\u0001\u0002 \u007f", "\U0010FFFD\U0001F9FF", "Привет, МИР! ёЁ", "straße STRASSE ﬁ ŉ",
    "Hello world, this is the end of the beginning and there it stays.", "    if left == 0:\n        return right\n\n\n    return left  # done\n",
    "for (size_t i = 0; i < n; ++i) {\n\tout[i] += in[i];\n}\n", "a" * 47, "ab" * 24, "ab" * 40 + "a" * 31, "the" * 50, "x" * 200, "aaaa aaa aa a" * 5,
    "<b>bold</b> <b> <</b>> <b", "<b></b>\n\n\n<b>", "<tool><tool>><tool >x", "<0x41> <unk> <|endoftext|", "<|im_start|>user\nHi<|im_end|>\n", "<s>a</s> <turn>b<turn>",
    "▁a▁▁b ▁", "_a ▂",
]


def pieces_of_mixed_text():
    r, text, out = random.Random(3), mixed_text(3000, seed=11), []
    while text:
        n = r.randint(40, 120)
        out.append(text[:n])
        text = text[n:]
    return out


def write(name, fixture):
    path = OUT / name
    path.write_text(json.dumps(fixture, ensure_ascii=False, separators=(",", ":")).replace('],"', '],\n"').replace("],[", "],\n[") + "\n")
    assert json.loads(path.read_text()) == fixture
    print(f"{path.name}: {len(fixture['tokens'])} tokens, {len(fixture['texts'])} texts, {len(fixture['variants'])} variants, {path.stat().st_size} bytes")


def around_markers(text, markers, encode, first=()):
    """ids of text whose markers (text -> id) stand for themselves; the leftmost, then longest one is found first."""
    ids, begin, at = list(first), 0, 0
    while at < len(text):
        m = max((k for k in markers if text.startswith(k, at)), key=len, default=None)
        if m is None:
            at += 1
            continue
        if begin < at:
            ids += encode(text[begin:at])
        ids.append(markers[m])
        begin = at = at + len(m)
    return ids + (encode(text[begin:]) if begin < len(text) else [])


def byte_level(texts):
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    user = ["<tool>", "<tool>>"]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    missing = {"Ć", "õ", "ö", "ÿ"}  # bytes 0x06 and 0xF5, 0xF6, 0xFF: real vocabularies lack some too
    trainer = trainers.BpeTrainer(vocab_size=1200, special_tokens=special, initial_alphabet=[c for c in alphabet if c not in missing], show_progress=False)
    t.train_from_iterator([PROSE * 4] + texts, trainer)
    model = json.loads(t.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    types = [CONTROL] * 3 + [NORMAL] * (len(tokens) - 3) + [USER_DEFINED] * 2
    tokens += user
    texts = texts + ["\u0006a\u0006b", "th\u0006e"]
    fixture = {"model": "gpt2", "pre": "smollm", "tokens": tokens, "types": types, "merges": merges, "bos": 1, "eos": 2, "texts": texts, "variants": []}
    marks = {s: i for i, s in enumerate(tokens) if types[i] == CONTROL}
    for pre in PIPELINES:
        encode = byte_level_reference(tokens, merges, pre, types)
        fixture["variants"].append({"name": pre, "pre": pre, "ids": [encode(x) for x in texts]})
    encode = byte_level_reference(tokens, merges, "smollm", types)
    fixture["variants"].append({"name": "smollm, special tokens parsed", "pre": "smollm", "special": True,
                                "ids": [around_markers(x, marks, encode) for x in texts]})
    write("byte_level.json", fixture)


def sentencepiece_bpe(texts):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter((PROSE * 4).split("\n") + [x for x in texts if x.strip()]), model_writer=model, model_type="bpe", vocab_size=1100,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False, character_coverage=0.98,
        control_symbols=["<turn>"], user_defined_symbols=["\n", "\n\n", "\n\n\n", "\t", "  ", "   ", "    ", "<b>", "</b>"], minloglevel=2,
        split_by_whitespace=False, max_sentencepiece_length=12)
    m = pb.ModelProto.FromString(model.getvalue())
    tokens = [p.piece for p in m.pieces]
    fixture = {"model": "llama", "tokens": tokens, "types": [int(p.type) for p in m.pieces], "scores": [p.score for p in m.pieces],
               "bos": tokens.index("<s>"), "eos": tokens.index("</s>"), "unk": tokens.index("<unk>"), "texts": texts, "variants": []}
    types, unk = fixture["types"], fixture["unk"]
    marks = {s: i for i, s in enumerate(tokens) if types[i] in (CONTROL, UNKNOWN)}
    unused = [i for i, k in enumerate(types) if k == NORMAL and len(tokens[i]) > 2][::3]
    no_bytes = [CONTROL if k == BYTE else k for k in types]
    some_unused = [UNUSED if i in unused else k for i, k in enumerate(types)]

    def variant(name, kinds, prefix=False, special=False, **settings):
        encode = sentencepiece_reference(tokens, fixture["scores"], kinds, unk, prefix)
        ids = [around_markers(x, marks, encode) if special else encode(x) for x in texts]
        fixture["variants"].append({"name": name, "space": prefix, "special": special, **settings, "ids": ids})

    variant("as trained", types)
    variant("with a space in front", types, prefix=True)
    variant("special tokens parsed", types, special=True)
    variant("special tokens parsed, with a space in front", types, prefix=True, special=True)
    variant("some pieces unused", some_unused, types=some_unused)
    variant("without byte tokens", no_bytes, types=no_bytes)
    write("sentencepiece.json", fixture)


def unigram(texts):
    """A unigram model with compiled normalization rules, and the ids of sentencepiece."""
    rules = {"\u00a0": " ", "\t": " ", "\u3000": " ", "e\u0301": "\u00e9", "\ufb01": "fi", "\u00bd": "1\u20442", "\u200b": "", "\uff01": "!", "\u2026": "..."}
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as tsv:
        for a, b in rules.items():
            tsv.write(" ".join(f"{ord(c):X}" for c in a) + "\t" + " ".join(f"{ord(c):X}" for c in b) + "\n")
        tsv.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter((PROSE * 4).split("\n") + [x for x in texts if x.strip()]), model_writer=model, model_type="unigram", vocab_size=700,
            normalization_rule_tsv=tsv.name, character_coverage=0.98, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2)
    m = pb.ModelProto.FromString(model.getvalue())
    sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    # Equal sums of scores are told apart by rounding, which is not the same in each library: no long runs of one letter.
    texts = [x for x in texts if "\u2581" not in x and "a" * 40 not in x]
    fixture = {"model": "t5", "tokens": [p.piece for p in m.pieces], "types": [int(p.type) for p in m.pieces], "scores": [p.score for p in m.pieces],
               "charsmap": list(m.normalizer_spec.precompiled_charsmap), "unk": 2, "eos": 1, "texts": texts,
               "variants": [{"name": "as trained", "space": True, "ids": [sp.encode(x) for x in texts]}]}
    write("unigram.json", fixture)


def whole_file(name, tokenizer, texts, config=None):
    """A tokenizer.json as it is, and the ids of Hugging Face's library."""
    extra = [f"a{t.content}b {t.content} c{t.content}" for t in tokenizer.get_added_tokens_decoder().values()]
    texts = texts + extra
    fixture = {"tokenizer": json.loads(tokenizer.to_str()), "config": config or {}, "texts": texts,
               "ids": [tokenizer.encode(x, add_special_tokens=False).ids for x in texts], "framed": tokenizer.encode("the end").ids}
    path = OUT / name
    path.write_text(json.dumps(fixture, ensure_ascii=False, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    print(f"{path.name}: {tokenizer.get_vocab_size()} tokens, {len(texts)} texts, {path.stat().st_size} bytes")


def pieces_of_words(tokenizer, lines, size, continued=""):
    """(piece, how often it stands in the lines' words) of `size` pieces: every character, then what spares most. `continued` goes before a
    piece inside a word. The library's own trainers of such vocabularies give others in every run."""
    split = lambda line: [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(line))]
    counts = Counter()
    for word, n in Counter(word for line in lines for word in split(line)).items():
        for i in range(len(word)):
            for j in range(i + 1, min(i + 8, len(word)) + 1):
                counts[(continued if i else "") + word[i:j], j - i] += n
    gain = lambda entry: (entry[1] > 1, -counts[entry] * (entry[1] - 1), entry)
    return [(entry[0], counts[entry]) for entry in sorted(counts, key=gain)[:size]]


def unigram_vocabulary(special, counted):
    """Pieces with log probabilities; a little less for each one, so that no two ways of cutting a word are as good."""
    total = sum(n for _, n in counted)
    return [(s, 0.0) for s in special] + [(p, round(math.log(n / total) - 1e-4 * i * math.sqrt(i), 6)) for i, (p, n) in enumerate(counted)]


def whole_files(texts):
    lines = (PROSE * 4).split("\n")
    added = [AddedToken("<left>", lstrip=True), AddedToken("<right>", rstrip=True, special=True), AddedToken("word", single_word=True),
             AddedToken("é!", normalized=True), AddedToken("<|im_end|>", special=True, normalized=False)]

    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PIPELINES["qwen2"][0][0]), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_tokens(added)
    t.decoder = decoders.ByteLevel()
    whole_file("hf_byte_level.json", t, texts, {"eos_token": "<|im_end|>", "add_bos_token": False})

    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=700, show_progress=False, max_token_length=8, special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]))
    j = json.loads(t.to_str())
    j["model"].update(byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    j["added_tokens"] = j["added_tokens"][:3]
    j["pre_tokenizer"] = None
    t = Tokenizer.from_str(json.dumps(j))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.add_tokens(added)
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    whole_file("hf_sentencepiece.json", t, texts, {"bos_token": "<s>", "eos_token": {"content": "</s>"}})

    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    t.model = models.Unigram(unigram_vocabulary(special, pieces_of_words(t, lines, 500)), unk_id=3)
    t.add_special_tokens(special)
    t.add_tokens(added)
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    whole_file("hf_unigram.json", t, texts, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"})

    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [p for p, _ in pieces_of_words(t, lines, 550, continued="##")]
    t.model = models.WordPiece({p: i for i, p in enumerate(special + pieces)}, unk_token="[UNK]")
    t.add_special_tokens(special)
    t.add_tokens(added[:4])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    whole_file("hf_word_piece.json", t, texts)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    cases = TEXTS + pieces_of_mixed_text()
    byte_level(cases)
    sentencepiece_bpe(cases)
    unigram(cases)
    whole_files(cases)
