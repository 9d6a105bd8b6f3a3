"""Writes a llama-shaped GGUF of random f16 weights for a peer that needs a file.

usage: synth_gguf.py GGUF_PY_DIR OUT LAYERS HIDDEN FFN HEADS KV_HEADS HEAD_DIM VOCAB TIED(0|1) [ARCH]
ARCH is llama, or qwen3, which has norms of q and k.  Qwen3-0.6B: 28 1024 3072 16 8 128 151936 1 qwen3
Llama-3.2-1B: 16 2048 8192 32 8 64 128256 1      Llama-3.1-8B: 32 4096 14336 32 8 128 128256 0
"""
import sys

sys.path.insert(0, sys.argv[1])
import gguf  # noqa: E402
import numpy as np  # noqa: E402

out = sys.argv[2]
layers, hidden, ffn, heads, kv_heads, head_dim, vocab, tied = map(int, sys.argv[3:11])
arch = sys.argv[11] if len(sys.argv) > 11 else "llama"
writer = gguf.GGUFWriter(out, arch)
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
writer.add_file_type(1)
writer.add_tokenizer_model("no_vocab")

noise = (np.random.default_rng(0).standard_normal(1 << 24, dtype=np.float32) * 0.02).astype(np.float16)


def matrix(name, rows, columns):
    writer.add_tensor(name, np.resize(noise, rows * columns).reshape(rows, columns))


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
