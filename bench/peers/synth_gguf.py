"""Writes a llama-shaped GGUF of random weights for a peer that needs a file.

usage: synth_gguf.py GGUF_PY_DIR OUT LAYERS HIDDEN FFN HEADS KV_HEADS HEAD_DIM VOCAB TIED(0|1) [ARCH] [--experts N --used N] [--type T]
                     [--embedding T] [--context N] [--vocabulary FILE]
                     [--period N]
GGUF_PY_DIR is the folder of the Python package gguf, or its wheel.
ARCH is llama, or qwen3, which has norms of q and k, or qwen3moe, which has experts of FFN each too.
Qwen3-0.6B: 28 1024 3072 16 8 128 151936 1 qwen3      Qwen3-30B-A3B: 48 2048 768 32 4 128 151936 0 qwen3moe --experts 128 --used 8
Llama-3.2-1B: 16 2048 8192 32 8 64 128256 1      Llama-3.1-8B: 32 4096 14336 32 8 128 128256 0
T is f16 (unless given), q4_0, q4_1 or q8_0, of all matrices but the embedding and the head where --embedding says another one for these, or q4_k_m,
llama-quantize's mix of that name. The model says that it takes 131072 tokens unless --context says otherwise. With --vocabulary the tokenizer is that of a
GGUF file, for engines that take text; what VOCAB has more than that file is filled with tokens that no text has. The weights repeat after N of them, a
multiple of 256 (16777216 unless given): 261376, 256 times a prime so that the rows of a matrix differ, lets xz pack a file into a megabyte.
"""
import argparse
import functools
import math
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("gguf_py")
parser.add_argument("out")
for name in ["layers", "hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab", "tied"]:
    parser.add_argument(name, type=int)
parser.add_argument("arch", nargs="?", default="llama", choices=["llama", "qwen3", "qwen3moe"])
parser.add_argument("--type", default="f16", choices=["f16", "q4_0", "q4_1", "q8_0", "q4_k_m"])
parser.add_argument("--embedding", choices=["f16", "q4_0", "q4_1", "q8_0"])
parser.add_argument("--experts", type=int, default=0)
parser.add_argument("--used", type=int, default=0)
parser.add_argument("--context", type=int, default=131072)
parser.add_argument("--vocabulary")
parser.add_argument("--period", type=int, default=1 << 24)
args = parser.parse_args()
if (args.arch == "qwen3moe") != (0 < args.used <= args.experts):
    parser.error("qwen3moe, and nothing else, takes --experts N and --used N, which is not more")
if args.period < 256 or args.period % 256:
    parser.error("--period takes a multiple of 256, the largest block of a type")
sys.path.insert(0, args.gguf_py)
import gguf  # noqa: E402
import numpy as np  # noqa: E402

layers, hidden, ffn, heads, kv_heads = args.layers, args.hidden, args.ffn, args.heads, args.kv_heads
head_dim, vocab, tied, arch = args.head_dim, args.vocab, args.tied, args.arch
writer = gguf.GGUFWriter(args.out, arch)
writer.add_block_count(layers)
writer.add_context_length(args.context)
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
writer.add_file_type({"f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q4_k_m": 15}[args.type])
if args.experts:
    writer.add_expert_count(args.experts)
    writer.add_expert_used_count(args.used)
    writer.add_expert_feed_forward_length(ffn)
if args.vocabulary:
    fields = gguf.GGUFReader(args.vocabulary).fields
    own = len(fields["tokenizer.ggml.tokens"].data)
    if own > vocab:
        sys.exit(f"error: {args.vocabulary} has a vocabulary of {own} tokens, more than {vocab}")
    padding = {  # of the arrays that have a value a token
        "tokenizer.ggml.tokens": [f"[PAD{i}]" for i in range(own, vocab)],
        "tokenizer.ggml.token_type": [int(gguf.TokenType.UNUSED)] * (vocab - own),
        "tokenizer.ggml.scores": [0.0] * (vocab - own),
    }
    for name, field in fields.items():
        if name.startswith("tokenizer."):
            sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            value = field.contents()
            writer.add_key_value(name, value + padding.get(name, []) if sub_type else value, field.types[0], sub_type)
else:
    writer.add_tokenizer_model("no_vocab")

Type = gguf.GGMLQuantizationType
random = np.random.default_rng(0)
noise = (random.standard_normal(args.period, dtype=np.float32) * 0.02).astype(np.float16)


@functools.cache
def blocks_of(kind):
    """Blocks of random weights, [n, bytes], or of f16 the weights."""
    if kind == Type.F16:
        return noise
    n, n_bytes = gguf.GGML_QUANT_SIZES[kind]
    if kind in (Type.Q4_0, Type.Q4_1, Type.Q8_0):
        return gguf.quants.quantize(noise.astype(np.float32).reshape(-1, n), kind).reshape(-1, n_bytes)
    # All bits random but the scales of a block, which give the weights a deviation of 0.02 about zero.
    blocks = random.integers(0, 256, (noise.size // n, n_bytes), np.uint8)
    scales, at = ([7.8e-5, 7.5 * 7.8e-5], 0) if kind == Type.Q4_K else ([1.46e-5], n_bytes - 2)
    blocks[:, at:at + 2 * len(scales)] = np.array(scales, np.float16).view(np.uint8)
    return blocks


def type_of(name):
    if args.embedding and name in ("token_embd.weight", "output.weight"):
        return Type[args.embedding.upper()]
    if args.type != "q4_k_m":
        return Type[args.type.upper()]
    if name == "output.weight":
        return Type.Q6_K
    if not re.search(r"attn_v|ffn_down", name):
        return Type.Q4_K
    i, eighth = int(name.split(".")[1]), layers // 8
    return Type.Q6_K if i < eighth or i >= 7 * layers // 8 or (i - eighth) % 3 == 2 else Type.Q4_K


@functools.cache
def values_of(kind, dims):
    # The same noise over and over, quantized once; matrices of one shape are the same.
    per_block = gguf.GGML_QUANT_SIZES[kind][0] if kind != Type.F16 else 1
    blocks = blocks_of(kind)
    return np.resize(blocks, (math.prod(dims) // per_block, *blocks.shape[1:])).reshape(*dims[:-1], -1)


def matrix(name, *dims):
    kind = type_of(name)
    writer.add_tensor(name, values_of(kind, dims), raw_dtype=None if kind == Type.F16 else kind)


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
    if arch.startswith("qwen3"):
        norm(b + "attn_q_norm.weight", head_dim)
        norm(b + "attn_k_norm.weight", head_dim)
    matrix(b + "attn_q.weight", heads * head_dim, hidden)
    matrix(b + "attn_k.weight", kv_heads * head_dim, hidden)
    matrix(b + "attn_v.weight", kv_heads * head_dim, hidden)
    matrix(b + "attn_output.weight", hidden, heads * head_dim)
    if args.experts:
        router = random.standard_normal((args.experts, hidden), dtype=np.float32) * np.float32(0.02)
        writer.add_tensor(b + "ffn_gate_inp.weight", router)
    kind, of = ("_exps", (args.experts,)) if args.experts else ("", ())
    matrix(b + f"ffn_gate{kind}.weight", *of, ffn, hidden)
    matrix(b + f"ffn_up{kind}.weight", *of, ffn, hidden)
    matrix(b + f"ffn_down{kind}.weight", *of, hidden, ffn)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
