#!/usr/bin/env python3
"""Makes tiny Hugging Face and MLC folders of random weights, with the logits that transformers computes from them.

usage: tools/make_tiny_folders.py OUT [--only llama,qwen3-bf16,llama-q4f16_1]

A folder NAME = FAMILY[-TYPE] holds config.json, model.safetensors and tokenizer.json (MLC: mlc-chat-config.json, the index and shards);
NAME.npy and NAME.json beside it are as tests/goldens/ has them, so tests/goldens/check.py --folder OUT compares an engine with all. For
an MLC folder the weights are quantized here, by the description in src/quant/q4f16_1.h, and put back into the model before its logits
are taken. Models that transformers has no code for are tiny_models/own_models.py's. Needs torch and transformers 5.24.0 (not in
tools/requirements.txt: nothing else does).
"""
import argparse
import copy
import json
import os
import sys
import zlib
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers
from tiny_models import internlm2, jina3, minicpm3, mlc, own_models, sentence, vocabulary
from tiny_models.hf_families import FAMILIES, OWN_CONFIGS

# f32 of every family, and of some the types that weights come in.
COMMITTED = ["small_llama-bf16", "small_llama-q4f16_1", "small_qwen3moe-bf16", "small_deepseek3-bf16", "small_minicpm3-bf16", "small_jamba-bf16",
             "small_qwen35-bf16", "small_mpt-bf16", "small_bert_rank-bf16", "small_modern_bert-f32", "small_nomic_moe-bf16", "small_t5-f32"]
NAMES = [*[f for f in FAMILIES if not f.startswith("small_")], *COMMITTED, "llama-bf16", "qwen3-f16", "qwen3moe-bf16", "gpt_oss-mxfp4", "llama-sharded",
         "llama-q4f16_1", "llama-q4f32_1", "qwen3-q4f16_1", "phi3-q4f16_1", "llama-q0f16"]
MLC_TYPES = ["q4f16_1", "q4f32_1", "q0f16"]
N_PROMPT, N_GREEDY, N_TRIES = 40, 24, 16
N_SPECIAL = 2


def tokenizer_json(n_vocab):
    """A byte-level BPE tokenizer of n_vocab tokens as tokenizer.json has it."""
    tokens, types, merges, bos, eos = vocabulary.byte_level(n_merges=n_vocab - 258)
    special = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
               for i, (t, kind) in enumerate(zip(tokens, types)) if kind == vocabulary.CONTROL]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [m.split(" ", 1) for m in merges]}}


def randomise(model, seed):
    """Weights with a deviation of 1 / sqrt(fan in), vectors some way off their neutral value, so that every one of them counts."""
    random = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=random)
        if p.dim() >= 2 and "conv1d" not in name and "conv.conv" not in name:
            fan = p.shape[-2] if name.endswith(("gate_up_proj", "down_proj")) and p.dim() == 3 and model.config.model_type == "gpt_oss" else p.shape[-1]
            # Tied embeddings stay small, or every token would only predict itself.
            scale = 0.2 if any(word in name for word in ("embed", "wte")) and getattr(model.config, "tie_word_embeddings", False) else 1.0
            p.data = scale * noise / fan**0.5
        elif p.dim() >= 2:
            p.data = 0.5 * noise
        elif "bias" in name and "dt_bias" not in name and "norm" not in name.lower():
            p.data = 0.15 * noise
        else:
            p.data = p.data + 0.2 * noise
    for name, b in model.named_buffers():  # corrections of routers, which are no parameters
        if name.endswith("e_score_correction_bias"):
            b.data = 0.15 * torch.randn(b.shape, generator=random)


def config_of(cls, kind, keywords):
    keywords = copy.deepcopy(keywords)
    if kind in MLC_TYPES and keywords["intermediate_size"] % 32:  # rows are whole groups of 32
        keywords["intermediate_size"] = 64
    n_vocab = keywords.pop("vocab_size", 300)
    ids = dict(bos_token_id=0, eos_token_id=1)
    config = cls.config_class(vocab_size=n_vocab, **(ids | keywords))
    if config.model_type == "gemma4_text":
        config.vocab_size_per_layer_input = n_vocab
    return config


def reference(model, tokens, embedding=lambda row: row):
    with torch.no_grad():
        out = getattr(model, "encoder" if model.config.is_encoder_decoder else "forward")(torch.tensor([tokens]))
    if not hasattr(out, "logits"):
        return embedding(out.last_hidden_state[0].double().mean(0)).numpy()
    if type(model).__name__.endswith("ForSequenceClassification"):  # one score as it is, several as shares
        return out.logits[0].numpy() if out.logits.shape[1] == 1 else out.logits[0].softmax(0).numpy()
    return out.logits[0].numpy()


def greedy(model, prompt):
    tokens, margin = list(prompt), np.inf
    for _ in range(N_GREEDY):
        last = reference(model, tokens)[-1]
        tokens.append(int(last.argmax()))
        second, first = np.sort(last)[-2:]
        margin = min(margin, (first - second) / last.std())
    return tokens[len(prompt):], float(margin)


def make(out, name):
    family, _, kind = name.partition("-")
    class_name, keywords = FAMILIES[family]
    cls = getattr(transformers, class_name, None) or getattr(own_models, class_name)
    seed = zlib.crc32(name.encode())  # of its own, whatever other folders there are
    torch.manual_seed(seed)
    model = cls(config_of(cls, kind, keywords)).eval().float()
    if class_name not in vars(own_models):
        model.set_attn_implementation("eager")
    randomise(model, seed)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    if kind in MLC_TYPES:
        mlc.save(model, folder, kind)
    elif family == "internlm2":
        internlm2.save(model, folder)
    elif family == "jina_bert_v3_tasks":
        jina3.save(model, folder)
    elif family.endswith("minicpm3"):
        minicpm3.save(model, folder, torch.bfloat16 if kind == "bf16" else torch.float32)
    elif kind == "mxfp4":
        mlc.save_mxfp4(model, folder)
    else:
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}.get(kind, torch.float32)
        model.to(dtype).save_pretrained(folder, **({"max_shard_size": "40KB"} if kind == "sharded" else {}))
        model = model.float()
    embedding = sentence.save(family, folder, model.config.hidden_size, seed) if family in sentence.DENSE else lambda row: row
    if family in OWN_CONFIGS:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | OWN_CONFIGS[family]) + "\n")
    n_vocab = model.config.vocab_size
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(n_vocab), ensure_ascii=False, separators=(",", ":")))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"bos_token": "<|begin|>", "eos_token": "<|end|>", "add_bos_token": False, "tokenizer_class": "PreTrainedTokenizerFast"}))
    random = np.random.default_rng(seed)
    # Of models that read one text and write another the encoder is read.
    is_embedding = not class_name.endswith(("ForCausalLM", "LMHeadModel"))
    # Of many prompts the one whose greedy text hangs least on the last digits.
    best = (None, [], -1.0)
    for _ in range(1 if is_embedding else N_TRIES):
        prompt = [int(t) for t in random.integers(N_SPECIAL, n_vocab, 24 if family.startswith("small_") else N_PROMPT)]
        best = max(best, (prompt, *(([], 0.0) if is_embedding else greedy(model, prompt))), key=lambda found: found[2])
    prompt, continuation, margin = best
    rows = reference(model, prompt, embedding)
    np.save(out / f"{name}.npy", rows.astype(np.float32))
    weights = "f32" if kind in ("", "sharded") else kind
    # A text beyond the original context needs a model loaded for more, where the factors of rope depend on it.
    context = {"context": model.config.max_position_embeddings} if family == "phi4_mini" else {}
    facts = {"arch": family, "weights": weights, "kind": "embedding" if is_embedding else "logits", "seed": seed, "tokens": prompt,
             "positions": list(range(len(prompt)))} | context | ({} if is_embedding else {"greedy": continuation, "greedy_margin": round(margin, 4)})
    (out / f"{name}.json").write_text(json.dumps(facts) + "\n")
    size = sum(p.stat().st_size for p in folder.iterdir())
    print(f"{name:16s} {size:8d} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--only", default=",".join(NAMES), help="comma-separated names; `committed` means those of tests/goldens/")
    args = parser.parse_args()
    names = COMMITTED if args.only == "committed" else args.only.split(",")
    unknown = [n for n in names if n not in NAMES]
    if unknown:
        parser.error(f"there is no folder {unknown[0]}; there are {', '.join(NAMES)}")
    transformers.logging.set_verbosity_error()
    for name in names:
        make(args.out, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
