"""Writes a llama-shaped GGUF of random weights for a peer that needs a file.

usage: synth_gguf.py GGUF_PY_DIR OUT LAYERS HIDDEN FFN HEADS KV_HEADS HEAD_DIM VOCAB TIED(0|1) [ARCH] [--type T] [--vocabulary FILE]
GGUF_PY_DIR is the folder of the Python package gguf, or its wheel.
ARCH is llama, or qwen3, which has norms of q and k.  Qwen3-0.6B: 28 1024 3072 16 8 128 151936 1 qwen3
Llama-3.2-1B: 16 2048 8192 32 8 64 128256 1      Llama-3.1-8B: 32 4096 14336 32 8 128 128256 0
T is f16 (unless given), q4_0 or q8_0, of all matrices. With --vocabulary the tokenizer is that of a GGUF file, for engines that take
text; VOCAB then is that file's.
"""
import argparse
import sys

parser = argparse.ArgumentParser()
parser.add_argument("gguf_py")
parser.add_argument("out")
for name in ["layers", "hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab", "tied"]:
    parser.add_argument(name, type=int)
parser.add_argument("arch", nargs="?", default="llama", choices=["llama", "qwen3"])
parser.add_argument("--type", default="f16", choices=["f16", "q4_0", "q8_0"])
parser.add_argument("--vocabulary")
args = parser.parse_args()
sys.path.insert(0, args.gguf_py)
import gguf  # noqa: E402
import numpy as np  # noqa: E402

layers, hidden, ffn, heads, kv_heads = args.layers, args.hidden, args.ffn, args.heads, args.kv_heads
head_dim, vocab, tied, arch = args.head_dim, args.vocab, args.tied, args.arch
writer = gguf.GGUFWriter(args.out, arch)
writer.add_block_count(layers)
writer.add_context_length(131072)
writer.add_embedding_length(hidden)
writer.add_feed_forward_length(ffn)
writer.add_head_count(heads)
writer.add_head_count_kv(kv_heads)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_rope_freq_base(500000.0)
writer.add_rope_dimension_count(head_dim)
writer.add_key_length(head_dim)
writer.add_value_length(head_dim)
writer.add_vocab_size(vocab)
writer.add_file_type({"f16": 1, "q4_0": 2, "q8_0": 7}[args.type])
if args.vocabulary:
    for field in gguf.GGUFReader(args.vocabulary).fields.values():
        if field.name.startswith("tokenizer."):
            sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type)
            if field.name == "tokenizer.ggml.tokens" and len(field.data) != vocab:
                sys.exit(f"error: {args.vocabulary} has a vocabulary of {len(field.data)} tokens, not {vocab}")
else:
    writer.add_tokenizer_model("no_vocab")

noise = (np.random.default_rng(0).standard_normal(1 << 24, dtype=np.float32) * 0.02).astype(np.float16)
if args.type == "f16":
    kind, per_block, blocks = None, 1, noise
else:
    kind = gguf.GGMLQuantizationType[args.type.upper()]
    per_block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    blocks = gguf.quants.quantize(noise.astype(np.float32).reshape(-1, per_block), kind).reshape(-1, block_bytes)


def matrix(name, rows, columns):
    # The same noise over and over, quantized once.
    n = rows * columns // per_block
    values = np.resize(blocks, (n, *blocks.shape[1:])).reshape(rows, -1)
    writer.add_tensor(name, values, raw_dtype=kind)


def norm(name, n):
    writer.add_tensor(name, np.ones(n, np.float32))


matrix("token_embd.weight", vocab, hidden)
norm("output_norm.weight", hidden)
if not tied:
    matrix("output.weight", vocab, hidden)
for i in range(layers):
    b = f"blk.{i}."
    norm(b + "attn_norm.weight", hidden)
    norm(b + "ffn_norm.weight", hidden)
    if arch == "qwen3":
        norm(b + "attn_q_norm.weight", head_dim)
        norm(b + "attn_k_norm.weight", head_dim)
    matrix(b + "attn_q.weight", heads * head_dim, hidden)
    matrix(b + "attn_k.weight", kv_heads * head_dim, hidden)
    matrix(b + "attn_v.weight", kv_heads * head_dim, hidden)
    matrix(b + "attn_output.weight", hidden, heads * head_dim)
    matrix(b + "ffn_gate.weight", ffn, hidden)
    matrix(b + "ffn_up.weight", ffn, hidden)
    matrix(b + "ffn_down.weight", hidden, ffn)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
