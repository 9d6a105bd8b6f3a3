"""Writes the models of random weights that stand for those which llama-server's tests fetch.

    models.py SUITE_DIR OUT_DIR

SUITE_DIR is the unpacked source package of llama-cpp-python (for its vocabularies). Each model has the
architecture, the kind of vocabulary and about the size of the one it stands for:
    stories.gguf    a llama of 260 thousand parameters and 512 tokens, with ChatML as its template
    infill.gguf     the same with tokens for filling in
    embedding.gguf  a bert with bge's vocabulary, pooled by its first token
    reranker.gguf   the same with a head that gives one score
Their texts mean nothing, but never end by themselves and are made of printable pieces.
"""

import pathlib
import sys

import gguf
import numpy

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}"
    "{% else %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
N_BYTES = 256
N_SPECIAL = 3  # unknown, begin, end
N_MERGED = 170
FIM = {"pre": "<fim_prefix>", "suf": "<fim_suffix>", "mid": "<fim_middle>"}


def vocabulary(suite: pathlib.Path, name: str, *keys: str):
    reader = gguf.GGUFReader(suite / "vendor/llama.cpp/models" / f"ggml-vocab-{name}.gguf")
    return [reader.fields["tokenizer.ggml." + key].contents() for key in keys]


def small_sentencepiece(suite: pathlib.Path):
    """512 tokens: the bytes, the first merges of llama's vocabulary, and printable characters."""
    texts, scores, types = vocabulary(suite, "llama-spm", "tokens", "scores", "token_type")
    n_first = N_SPECIAL + N_BYTES
    kept = list(range(n_first + N_MERGED))
    characters = ["\u2581"] + [chr(c) for c in range(0x21, 0x7F)]
    kept += [texts.index(c, n_first) for c in characters][: 512 - len(kept)]
    missing = 512 - len(kept)
    kept += list(range(n_first + N_MERGED, n_first + N_MERGED + missing))
    return [[column[i] for i in kept] for column in (texts, scores, types)]


class Weights:
    def __init__(self, writer: gguf.GGUFWriter):
        self.writer = writer
        self.rng = numpy.random.default_rng(260)

    def random(self, name: str, *shape: int, scale: float | None = None):
        scale = scale or shape[-1] ** -0.5
        values = self.rng.standard_normal(shape, dtype=numpy.float32) * scale
        self.add(name, values)

    def ones(self, name: str, n: int):
        self.add(name, numpy.ones(n, numpy.float32))

    def add(self, name: str, values):
        self.writer.add_tensor(name, values.astype(numpy.float32))

    def norm(self, name: str, n: int):
        self.ones(name + ".weight", n)
        self.add(name + ".bias", numpy.zeros(n))


def finish(writer: gguf.GGUFWriter):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_stories(suite: pathlib.Path, out: pathlib.Path, infill: bool):
    hidden, ffn, layers, heads, kv_heads, head_dim = 64, 172, 5, 8, 4, 8
    texts, scores, types = small_sentencepiece(suite)
    if infill:
        texts = texts + list(FIM.values())
        scores = scores + [0.0] * len(FIM)
        types = types + [int(gguf.TokenType.CONTROL)] * len(FIM)
    n_vocab = len(texts)
    w = gguf.GGUFWriter(out, "llama")
    w.add_name(out.stem)
    w.add_context_length(2048)
    w.add_embedding_length(hidden)
    w.add_block_count(layers)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_head_count_kv(kv_heads)
    w.add_rope_dimension_count(head_dim)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_vocab_size(n_vocab)
    w.add_file_type(0)
    w.add_tokenizer_model("llama")
    w.add_token_list(texts)
    w.add_token_scores(scores)
    w.add_token_types(types)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_add_bos_token(True)
    w.add_add_eos_token(False)
    w.add_chat_template(CHATML)
    if infill:
        for i, key in enumerate(FIM):
            w.add_uint32(f"tokenizer.ggml.fim_{key}_token_id", n_vocab - len(FIM) + i)
    t = Weights(w)
    # The first of the hidden values is the same large one for every token, and rows of the output
    # that are negative there are never chosen: the end of a text, other special tokens, and bytes.
    embedding = t.rng.standard_normal((n_vocab, hidden), dtype=numpy.float32)
    embedding[:, 0] = 8
    t.add("token_embd.weight", embedding)
    output = t.rng.standard_normal((n_vocab, hidden), dtype=numpy.float32) * 0.3
    output[:, 0] = [0 if kind == int(gguf.TokenType.NORMAL) else -20 for kind in types]
    t.add("output.weight", output)
    t.ones("output_norm.weight", hidden)
    for i in range(layers):
        b = f"blk.{i}."
        t.ones(b + "attn_norm.weight", hidden)
        t.ones(b + "ffn_norm.weight", hidden)
        t.random(b + "attn_q.weight", heads * head_dim, hidden)
        t.random(b + "attn_k.weight", kv_heads * head_dim, hidden)
        t.random(b + "attn_v.weight", kv_heads * head_dim, hidden)
        t.random(b + "attn_output.weight", hidden, heads * head_dim, scale=0.05)
        t.random(b + "ffn_gate.weight", ffn, hidden)
        t.random(b + "ffn_up.weight", ffn, hidden)
        t.random(b + "ffn_down.weight", hidden, ffn, scale=0.05)
    finish(w)


def write_bert(suite: pathlib.Path, out: pathlib.Path, pooling: gguf.PoolingType):
    hidden, ffn, layers, heads, context = 64, 128, 2, 4, 512
    texts, types = vocabulary(suite, "bert-bge", "tokens", "token_type")
    w = gguf.GGUFWriter(out, "bert")
    w.add_name(out.stem)
    w.add_context_length(context)
    w.add_embedding_length(hidden)
    w.add_block_count(layers)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_layer_norm_eps(1e-12)
    w.add_causal_attention(False)
    w.add_pooling_type(pooling)
    w.add_file_type(0)
    w.add_token_type_count(2)
    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("bert-bge")
    w.add_token_list(texts)
    w.add_token_types(types)
    for add, text in (
        (w.add_bos_token_id, "[CLS]"),
        (w.add_eos_token_id, "[SEP]"),
        (w.add_unk_token_id, "[UNK]"),
        (w.add_sep_token_id, "[SEP]"),
        (w.add_pad_token_id, "[PAD]"),
        (w.add_mask_token_id, "[MASK]"),
    ):
        add(texts.index(text))
    w.add_add_bos_token(True)
    w.add_add_eos_token(True)
    w.add_add_sep_token(False)
    t = Weights(w)
    t.random("token_embd.weight", len(texts), hidden)
    t.random("position_embd.weight", context, hidden)
    t.random("token_types.weight", 2, hidden)
    t.norm("token_embd_norm", hidden)
    for i in range(layers):
        b = f"blk.{i}."
        for name, rows, columns in (
            ("attn_q", hidden, hidden),
            ("attn_k", hidden, hidden),
            ("attn_v", hidden, hidden),
            ("attn_output", hidden, hidden),
            ("ffn_up", ffn, hidden),
            ("ffn_down", hidden, ffn),
        ):
            t.random(f"{b}{name}.weight", rows, columns)
            t.add(f"{b}{name}.bias", numpy.zeros(rows))
        t.norm(b + "attn_output_norm", hidden)
        t.norm(b + "layer_output_norm", hidden)
    if pooling == gguf.PoolingType.RANK:
        t.random("cls.weight", hidden, hidden)
        t.add("cls.bias", numpy.zeros(hidden))
        t.random("cls.output.weight", 1, hidden)
        t.add("cls.output.bias", numpy.zeros(1))
    finish(w)


def main():
    suite, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    write_stories(suite, out / "stories.gguf", infill=False)
    write_stories(suite, out / "infill.gguf", infill=True)
    write_bert(suite, out / "embedding.gguf", gguf.PoolingType.CLS)
    write_bert(suite, out / "reranker.gguf", gguf.PoolingType.RANK)


if __name__ == "__main__":
    main()
