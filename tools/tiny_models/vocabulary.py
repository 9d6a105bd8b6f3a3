"""Small but valid vocabularies for the tiny models: byte-level BPE and SentencePiece BPE, trained on the lines below."""
from collections import Counter

TEXT = """The rain falls on the hills and the river carries it down to the sea.
A small boat with a red sail waits for the wind in the morning.
There are seven birds on the old wall, and the cat knows every one of them.
When the bread is ready, the whole street smells of it.
She wrote the numbers down: 12, 7, 365, and then she counted them again.
"""
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # token types of GGUF


def byte_characters():
    """The printable character that stands for each byte in byte-level BPE (the rule of GPT-2's encoder)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, extra = {b: chr(b) for b in printable}, 0
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + extra)
            extra += 1
    return table


def train(words, n_merges):
    """The n most frequent pairs, merged one after the other; ties go to the pair that sorts first."""
    words = Counter(tuple(w) for w in words)
    merges = []
    for _ in range(n_merges):
        pairs = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        merged = Counter()
        for word, count in words.items():
            out, i = [], 0
            while i < len(word):
                if word[i : i + 2] == best:
                    out.append(best[0] + best[1])
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            merged[tuple(out)] += count
        words = merged
    return merges


def byte_level(n_merges):
    """(tokens, types, merges, bos, eos)"""
    table = byte_characters()
    space = table[0x20]
    words = [space + w for line in TEXT.splitlines() for w in line.split()]
    merges = train(["".join(table[b] if c != space else c for c in w for b in c.encode()[:1]) for w in words], n_merges)
    tokens = ["<|begin|>", "<|end|>"] + [table[b] for b in range(256)] + [a + b for a, b in merges]
    types = [CONTROL] * 2 + [NORMAL] * (len(tokens) - 2)
    return tokens, types, [f"{a} {b}" for a, b in merges], 0, 1


def sentence_piece(n_merges):
    """(tokens, types, scores, bos, eos)"""
    words = ["\u2581" + w for line in TEXT.splitlines() for w in line.split()]
    characters = sorted({c for w in words for c in w})
    merges = train(words, n_merges)
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    types = [CONTROL] * 3 + [UNKNOWN] + [BYTE] * 256
    scores = [0.0] * len(tokens)
    pieces = [a + b for a, b in merges] + characters
    tokens += pieces
    types += [NORMAL] * len(pieces)
    scores += [-float(i) for i in range(len(pieces))]
    return tokens, types, scores, 2, 1
