#!/usr/bin/env python3
"""Makes tiny models with random weights, their reference logits and a greedy continuation.

usage: tools/make_tiny_models.py OUT [--only llama-f32,gemma3-q8_0]
       tools/make_tiny_models.py --validate FOLDER...     the reference against NAME.npy beside each NAME.gguf of llama or gemma3

For each NAME = ARCH-TYPE of NAMES it writes NAME.gguf (of RWKV's dialects a folder NAME of Hugging Face), NAME.npy (float32 logits
[tokens, vocabulary]) and NAME.json: the prompt, 24 greedy tokens that follow it, and by how much each led. The same command gives the same files. tests/goldens/ holds the few
of COMMITTED; tests/goldens/check.py compares an engine with any such folder. Needs tools/requirements.txt.
"""
import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

# Products this small are faster on one thread, and their sums then come in one order everywhere.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gguf
import numpy as np
from tiny_models import blocks, reference, rwkv, rwkv_folders, vocabulary
from gguf import GGMLQuantizationType as Type

TYPES = ["f32", "f16", "q4_0", "q8_0", "q4_k_m", "q6_k"]
NAMES = [f"{arch}-{kind}" for arch in ("llama", "gemma3") for kind in TYPES]
NAMES += [f"{arch}-{kind}" for arch in rwkv.ARCHITECTURES for kind in ("f32", "f16", "q8_0")]
NAMES += ["rwkv6_hf-f32", "rwkv7_hf-f32", "rwkv7_fla-f32", "rwkv6_hf-bf16", "rwkv7_fla-f16", "small_rwkv6_hf-bf16", "small_rwkv7_fla-bf16"]
COMMITTED = ["llama-f16", "llama-q4_0", "llama-q4_k_m", "gemma3-q8_0", "rwkv6-q8_0", "rwkv7-q8_0", "small_rwkv6_hf-bf16", "small_rwkv7_fla-bf16"]
N_PROMPT, N_GREEDY, N_TRIES, MIN_DISTINCT = 40, 24, 64, 8
N_SPECIAL = 4  # ids below are special tokens in both vocabularies


def shape_of(arch, kind):
    """Rows of k-types are multiples of 256; the others stay small. Gemma needs six layers to have a global one."""
    wide = "_k" in kind
    if arch == "llama":
        return dict(layers=1 if wide else 2, hidden=256 if wide else 64, ffn=256 if wide else 96,
                    heads=4 if wide else 3, kv_heads=1 if wide else 1, dim=64 if wide else 32)
    return dict(layers=6, hidden=256 if wide else 64, ffn=256 if wide else 64, heads=4 if wide else 2, kv_heads=1, dim=64 if wide else 32)


def llama3_rope_factors(dim, base, factor=8.0, low=1.0, high=4.0, trained=64):
    """What each frequency is divided by: nothing for short waves, factor for long ones, a blend between."""
    frequency = base ** (-np.arange(0, dim, 2) / dim)
    wave = 2 * np.pi / frequency
    blend = np.clip((trained / wave - low) / (high - low), 0, 1)
    return 1 / ((1 - blend) / factor + blend)


def type_of(name, kind, layer, layers):
    """The type of a matrix: one throughout, except the mix q4_k_m, which gives more bits where llama-quantize does."""
    if kind != "q4_k_m":
        return Type[kind.upper()]
    more = layer is not None and (layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2)
    if name == "token_embd" or (more and name in ("attn_v", "ffn_down")):
        return Type.Q6_K
    return Type.Q4_K


def write_model(path, arch, kind, seed):
    s = shape_of(arch, kind)
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, arch)
    writer.add_name(path.stem)
    writer.add_block_count(s["layers"])
    writer.add_context_length(256)
    writer.add_embedding_length(s["hidden"])
    writer.add_feed_forward_length(s["ffn"])
    writer.add_head_count(s["heads"])
    writer.add_head_count_kv(s["kv_heads"])
    writer.add_key_length(s["dim"])
    writer.add_value_length(s["dim"])
    if arch == "llama":
        tokens, types, merges, bos, eos = vocabulary.byte_level(n_merges=42)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_freq_base(10000.0)
        writer.add_rope_dimension_count(s["dim"])
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("llama-bpe")
        writer.add_token_merges(merges)
    else:
        tokens, types, scores, bos, eos = vocabulary.sentence_piece(n_merges=28)
        writer.add_layer_norm_rms_eps(1e-6)
        writer.add_rope_freq_base(1000000.0)
        writer.add_float32("gemma3.rope.freq_base_swa", 10000.0)
        writer.add_sliding_window(12)
        writer.add_tokenizer_model("llama")
        writer.add_token_scores(scores)
        writer.add_add_space_prefix(False)
    writer.add_vocab_size(len(tokens))
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(eos)
    writer.add_add_bos_token(True)

    def matrix(name, rows, columns, layer=None, scale=1.0):
        stored = type_of(name, kind, layer, s["layers"])
        data = blocks.encode(scale * random.standard_normal((rows, columns)) / np.sqrt(columns), stored)
        writer.add_tensor(name + ".weight" if layer is None else f"blk.{layer}.{name}.weight", data, raw_dtype=stored)

    def norm(name, width, layer=None):
        data = (1 + 0.2 * random.standard_normal(width)).astype(np.float32)
        writer.add_tensor(name + ".weight" if layer is None else f"blk.{layer}.{name}.weight", data)

    q_width, kv_width = s["heads"] * s["dim"], s["kv_heads"] * s["dim"]
    # Gemma scales its tied embedding up: kept small, or every token would only predict itself.
    matrix("token_embd", len(tokens), s["hidden"], scale=0.2 if arch == "gemma3" else 1.0)
    if arch == "llama":
        writer.add_tensor("rope_freqs.weight", llama3_rope_factors(s["dim"], 10000.0).astype(np.float32))
    for i in range(s["layers"]):
        norm("attn_norm", s["hidden"], i)
        matrix("attn_q", q_width, s["hidden"], i)
        matrix("attn_k", kv_width, s["hidden"], i)
        matrix("attn_v", kv_width, s["hidden"], i)
        matrix("attn_output", s["hidden"], q_width, i)
        if arch == "gemma3":
            norm("attn_q_norm", s["dim"], i)
            norm("attn_k_norm", s["dim"], i)
            norm("post_attention_norm", s["hidden"], i)
            norm("post_ffw_norm", s["hidden"], i)
        norm("ffn_norm", s["hidden"], i)
        matrix("ffn_gate", s["ffn"], s["hidden"], i)
        matrix("ffn_up", s["ffn"], s["hidden"], i)
        matrix("ffn_down", s["hidden"], s["ffn"], i)
    norm("output_norm", s["hidden"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def greedy(model, prompt, at_least):
    """(24 greedy tokens, smallest lead of one over the runner-up in standard deviations), or None below at_least.

    None too for a text that goes round in a small circle, which would show little, or holds a special token.
    """
    tokens, margin = list(prompt), np.inf
    for _ in range(N_GREEDY):
        last = reference.logits(model, tokens)[-1]
        second, first = np.sort(last)[-2:]
        margin = min(margin, (first - second) / last.std())
        if margin < at_least:
            return None
        tokens.append(int(last.argmax()))
    continuation = tokens[len(prompt):]
    shows_something = len(set(continuation)) >= MIN_DISTINCT and min(continuation) >= N_SPECIAL
    return (continuation, float(margin)) if shows_something else None


def make(folder, name):
    arch, kind = name.split("-")
    seed = 1000 + NAMES.index(name)
    path = folder / f"{name}.gguf"
    if arch in rwkv_folders.DIALECTS:
        path = folder / name / "model.safetensors"
        model = rwkv_folders.write_folder(path.parent, arch, kind, seed)
    else:
        (rwkv.write_model if arch in rwkv.ARCHITECTURES else write_model)(path, arch, kind, seed)
        model = reference.Model(path)
    random = np.random.default_rng(seed + 1000)
    n_vocab = len(model.tensors["token_embd.weight"])
    # Of many prompts the one whose greedy text hangs least on the last digits.
    best = (None, None, 0.0)
    for _ in range(N_TRIES):
        prompt = [int(t) for t in random.integers(N_SPECIAL, n_vocab, N_PROMPT)]
        found = greedy(model, prompt, best[2])
        if found:
            best = (prompt, *found)
    prompt, continuation, margin = best
    np.save(folder / f"{name}.npy", reference.logits(model, prompt).astype(np.float32))
    facts = {"arch": arch, "weights": kind, "kind": "logits", "tokens": prompt, "positions": list(range(len(prompt))),
             "greedy": continuation, "greedy_margin": round(margin, 4), "seed": seed,
             "tensor_types": dict(sorted(Counter(model.types.values()).items()))}
    lines = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in facts.items())
    (folder / f"{name}.json").write_text("{\n" + lines + "\n}\n")
    print(f"{name:14s} {path.stat().st_size:9d} bytes, greedy margin {margin:.3f}", flush=True)


def validate(folders):
    worst = 0.0
    for path in sorted(p for folder in folders for p in Path(folder).glob("*.gguf")):
        if path.stem.split("-")[0] not in reference.FORWARD:
            continue
        facts = json.loads(path.with_suffix(".json").read_text())
        error = reference.nmse(reference.logits(reference.Model(path), facts["tokens"]), np.load(path.with_suffix(".npy")).astype(np.float64))
        worst = max(worst, error)
        print(f"{path.stem:14s} NMSE {error:.2e}")
    return 0 if worst <= 1e-10 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="OUT")
    parser.add_argument("--only", default=",".join(NAMES), help="comma-separated names; `committed` means those of tests/goldens/")
    parser.add_argument("--validate", action="store_true")
    args = parser.parse_args()
    if args.validate:
        return validate(args.folders)
    names = COMMITTED if args.only == "committed" else args.only.split(",")
    unknown = [n for n in names if n not in NAMES]
    if unknown:
        parser.error(f"there is no model {unknown[0]}; there are {', '.join(NAMES)}")
    folder = Path(args.folders[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        make(folder, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
