"""Writes the models of random weights that llama-server's own tests are run with.

models.py SUITE_DIR OUT_DIR, where SUITE_DIR is the unpacked source of llama-cpp-python. The vocabularies are those that lie beside the
suite as files without weights; the weights are normal numbers of a fixed seed.
"""
import sys
from pathlib import Path

LLAMA_CPP = Path(sys.argv[1]) / "vendor" / "llama.cpp"
sys.path.insert(0, str(LLAMA_CPP / "gguf-py"))

import gguf  # noqa: E402
import numpy as np  # noqa: E402

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class Model:
    """A GGUF that takes its vocabulary from another file and its weights from a generator."""

    def __init__(self, path, arch, vocabulary):
        self.writer = gguf.GGUFWriter(str(path), arch)
        self.random = np.random.default_rng(7)
        self.n_vocab = 0
        for name, field in gguf.GGUFReader(str(LLAMA_CPP / "models" / vocabulary)).fields.items():
            if not name.startswith("tokenizer.") or name == "tokenizer.chat_template":
                continue
            value = field.contents()
            if name == "tokenizer.ggml.tokens":
                self.n_vocab = len(value)
            if field.types[0] == gguf.GGUFValueType.ARRAY:
                self.writer.add_key_value(name, value, field.types[0], field.types[1])
            else:
                self.writer.add_key_value(name, value, field.types[0])

    def matrix(self, name, *shape):
        values = self.random.standard_normal(shape, dtype=np.float32) / np.sqrt(shape[-1])
        self.writer.add_tensor(name + ".weight", values.astype(np.float32))

    def norm(self, name, size, bias=False):
        self.writer.add_tensor(name + ".weight", np.ones(size, np.float32))
        if bias:
            self.bias(name, size)

    def bias(self, name, size):
        self.writer.add_tensor(name + ".bias", self.random.standard_normal(size, dtype=np.float32) * np.float32(0.02))

    def close(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def llama(path, infill=False):
    """The shape of stories260K, with the vocabulary of Llama 2."""
    hidden, ffn, heads, kv_heads, layers = 64, 172, 8, 4, 5
    head_dim = hidden // heads
    model = Model(path, "llama", "ggml-vocab-llama-spm.gguf")
    w = model.writer
    w.add_block_count(layers)
    w.add_context_length(2048)
    w.add_embedding_length(hidden)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_head_count_kv(kv_heads)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_rope_dimension_count(head_dim)
    w.add_vocab_size(model.n_vocab)
    w.add_file_type(0)
    w.add_chat_template(CHATML)
    if infill:
        last = model.n_vocab - 1
        for kind, offset in (("pre", 0), ("suf", 1), ("mid", 2)):
            w.add_uint32(f"tokenizer.ggml.fim_{kind}_token_id", last - offset)
    model.matrix("token_embd", model.n_vocab, hidden)
    model.matrix("output", model.n_vocab, hidden)
    model.norm("output_norm", hidden)
    for layer in range(layers):
        b = f"blk.{layer}."
        model.norm(b + "attn_norm", hidden)
        model.norm(b + "ffn_norm", hidden)
        model.matrix(b + "attn_q", hidden, hidden)
        model.matrix(b + "attn_k", kv_heads * head_dim, hidden)
        model.matrix(b + "attn_v", kv_heads * head_dim, hidden)
        model.matrix(b + "attn_output", hidden, hidden)
        model.matrix(b + "ffn_gate", ffn, hidden)
        model.matrix(b + "ffn_up", ffn, hidden)
        model.matrix(b + "ffn_down", hidden, ffn)
    model.close()


def bert(path, rank=False):
    """A small BERT with the vocabulary of bge; with rank, one that scores pairs."""
    hidden, ffn, heads, layers = 64, 128, 4, 2
    model = Model(path, "bert", "ggml-vocab-bert-bge.gguf")
    w = model.writer
    w.add_block_count(layers)
    w.add_context_length(512)
    w.add_embedding_length(hidden)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_layer_norm_eps(1e-12)
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.RANK if rank else gguf.PoolingType.CLS)
    w.add_file_type(0)
    model.matrix("token_embd", model.n_vocab, hidden)
    model.matrix("position_embd", 512, hidden)
    model.matrix("token_types", 2, hidden)
    model.norm("token_embd_norm", hidden, bias=True)
    for layer in range(layers):
        b = f"blk.{layer}."
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            model.matrix(b + part, hidden, hidden)
            model.bias(b + part, hidden)
        model.norm(b + "attn_output_norm", hidden, bias=True)
        model.matrix(b + "ffn_up", ffn, hidden)
        model.bias(b + "ffn_up", ffn)
        model.matrix(b + "ffn_down", hidden, ffn)
        model.bias(b + "ffn_down", hidden)
        model.norm(b + "layer_output_norm", hidden, bias=True)
    if rank:
        model.matrix("cls", hidden, hidden)
        model.bias("cls", hidden)
        model.matrix("cls.output", 1, hidden)
        model.bias("cls.output", 1)
    model.close()


def main():
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    llama(out / "llama.gguf")
    llama(out / "infill.gguf", infill=True)
    bert(out / "bert.gguf")
    bert(out / "rerank.gguf", rank=True)


main()
