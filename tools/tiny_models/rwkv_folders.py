"""Tiny Hugging Face folders of RWKV-6 and RWKV-7 with random weights, in the names and orders that their makers' classes have.

Three dialects: Rwkv6ForCausalLM and Rwkv7ForCausalLM (RWKV's own, matrices of low rank stored turned), and RWKV7ForCausalLM of
flash-linear-attention. What they compute is rwkv.py's. Beside the weights lies the vocabulary file of RWKV World.
"""
import json
import struct
from types import SimpleNamespace

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import dequantize, quantize

from tiny_models import rwkv

DIALECTS = ["rwkv6_hf", "rwkv7_hf", "rwkv7_fla", "small_rwkv6_hf", "small_rwkv7_fla"]
SIZES = dict(layers=3, hidden=64, head=32, ffn=96, rank=16)
SMALL = dict(layers=3, hidden=32, head=16, ffn=48, rank=8)
HEAD_NORM_EPSILON = 64e-5


class Weights:
    """Random tensors by the folder's names, as the folder's type rounds them."""

    def __init__(self, random, stored):
        self.random, self.stored, self.raw, self.values = random, stored, {}, {}

    def add(self, name, shape, mean, deviation):
        data = (mean + deviation * self.random.standard_normal(shape)).astype(np.float32)
        self.raw[name] = quantize(data, self.stored)
        self.values[name] = dequantize(self.raw[name], self.stored).astype(np.float64).reshape(shape)
        return self.values[name]

    def matrix(self, name, rows, columns):
        return self.add(name, (rows, columns), 0, columns**-0.5)

    def norm(self, name, width):
        return self.add(name + ".weight", (width,), 1, 0.2), self.add(name + ".bias", (width,), 0, 0.2)

    def save(self, path):
        header, at = {}, 0
        for name, data in self.raw.items():
            kind = {Type.F32: "F32", Type.F16: "F16", Type.BF16: "BF16"}[self.stored]
            header[name] = {"dtype": kind, "shape": list(self.values[name].shape), "data_offsets": [at, at + data.nbytes]}
            at += data.nbytes
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data.tobytes() for data in self.raw.values()))


def vocabulary_file(tokens):
    """A line for each token: its id, the text or bytes as Python writes them, how many bytes."""
    lines = []
    for number, token in enumerate(tokens, 1):
        try:
            literal = repr(token.decode())
        except UnicodeDecodeError:
            literal = repr(token)
        lines.append(f"{number} {literal} {len(token)}\n")
    return "".join(lines)


def config_of(dialect, s, n_vocab):
    config = dict(vocab_size=n_vocab, hidden_size=s["hidden"], num_hidden_layers=s["layers"], bos_token_id=0, eos_token_id=0,
                  tie_word_embeddings=False, use_cache=True)
    if dialect == "rwkv6_hf":
        return config | dict(architectures=["Rwkv6ForCausalLM"], model_type="rwkv6", attention_hidden_size=s["hidden"], head_size=s["head"],
                             head_size_divisor=8, num_attention_heads=64, intermediate_size=s["ffn"], layer_norm_epsilon=1e-5,
                             rescale_every=rwkv.HALVED_EVERY)
    config |= dict(model_type="rwkv7", intermediate_size=s["ffn"])
    if dialect == "rwkv7_hf":
        return config | dict(architectures=["Rwkv7ForCausalLM"], head_size=s["head"], head_size_divisor=8, attention_hidden_size=s["hidden"],
                             layer_norm_epsilon=1e-5, lora_rank_decay=s["rank"], lora_rank_iclr=s["rank"],
                             lora_rank_value_residual_mix=s["rank"] // 2, lora_rank_gate=s["rank"] * 2)
    return config | dict(architectures=["RWKV7ForCausalLM"], attn=None, attn_mode="chunk", head_dim=s["head"], num_heads=None, hidden_act="sqrelu",
                         hidden_ratio=4.0, norm_bias=True, norm_eps=HEAD_NORM_EPSILON / s["head"], norm_first=True,
                         max_position_embeddings=2048, value_dim=[s["hidden"]] * s["layers"], decay_low_rank_dim=s["rank"],
                         a_low_rank_dim=s["rank"], v_low_rank_dim=s["rank"] // 2, gate_low_rank_dim=s["rank"] * 2)


class Model(SimpleNamespace):
    """What rwkv.forward() reads: tensors and keys by the names of GGUF."""

    def key(self, name, default=None):
        return self.keys.get(name, default)


def six(w, t, s, n_vocab):
    hidden, rank = s["hidden"], s["rank"]
    norm = lambda name, to: t.update(zip((to + ".weight", to + ".bias"), w.norm(name, hidden)))
    t["token_embd.weight"] = w.matrix("rwkv.embeddings.weight", n_vocab, hidden)
    norm("rwkv.blocks.0.pre_ln", "token_embd_norm")
    for i in range(s["layers"]):
        p, q = f"rwkv.blocks.{i}.", f"blk.{i}."
        norm(p + "ln1", q + "attn_norm")
        norm(p + "ln2", q + "attn_norm_2")
        a, f, halved = p + "attention.", p + "feed_forward.", 2.0 ** (i // rwkv.HALVED_EVERY)
        norm(a + "ln_x", q + "time_mix_ln")
        vector = lambda name, mean, deviation: w.add(name, (1, 1, hidden), mean, deviation).ravel()
        t[q + "time_mix_lerp_x.weight"] = vector(a + "time_maa_x", 0.5, 0.3)
        t[q + "time_mix_lerp_fused.weight"] = np.stack([vector(a + "time_maa_" + c, 0.5, 0.3) for c in "wkvrg"])
        t[q + "time_mix_w1.weight"] = w.matrix(a + "time_maa_w1", hidden, 5 * rank).T
        t[q + "time_mix_w2.weight"] = w.add(a + "time_maa_w2", (5, rank, hidden), 0, 0.1).transpose(0, 2, 1)
        t[q + "time_mix_decay.weight"] = vector(a + "time_decay", -2, 1.5)
        t[q + "time_mix_decay_w1.weight"] = w.matrix(a + "time_decay_w1", hidden, 2 * rank).T
        t[q + "time_mix_decay_w2.weight"] = w.matrix(a + "time_decay_w2", 2 * rank, hidden).T
        t[q + "time_mix_first.weight"] = w.add(a + "time_faaaa", (hidden // s["head"], s["head"]), 0.5, 0.5)
        for name in ("receptance", "key", "value", "gate"):
            t[q + f"time_mix_{name}.weight"] = w.matrix(a + name + ".weight", hidden, hidden)
        t[q + "time_mix_output.weight"] = w.matrix(a + "output.weight", hidden, hidden) / halved
        t[q + "channel_mix_lerp_k.weight"] = vector(f + "time_maa_k", 0.5, 0.3)
        t[q + "channel_mix_lerp_r.weight"] = vector(f + "time_maa_r", 0.5, 0.3)
        t[q + "channel_mix_key.weight"] = w.matrix(f + "key.weight", s["ffn"], hidden)
        t[q + "channel_mix_receptance.weight"] = w.matrix(f + "receptance.weight", hidden, hidden)
        t[q + "channel_mix_value.weight"] = w.matrix(f + "value.weight", hidden, s["ffn"]) / halved
    norm("rwkv.ln_out", "output_norm")
    t["output.weight"] = w.matrix("head.weight", n_vocab, hidden)


def seven(w, t, s, n_vocab, fla):
    hidden = s["hidden"]
    norm = lambda name, to: t.update(zip((to + ".weight", to + ".bias"), w.norm(name, hidden)))
    t["token_embd.weight"] = w.matrix("model.embeddings.weight", n_vocab, hidden)
    norm("model.layers.0.pre_norm" if fla else "model.pre_ln", "token_embd_norm")
    ranks = {"w": s["rank"], "a": s["rank"], "v": s["rank"] // 2, "g": s["rank"] * 2}
    for i in range(s["layers"]):
        p, q = f"model.layers.{i}." if fla else f"model.blocks.{i}.", f"blk.{i}."
        a, f = (p + "attn.", p + "ffn.") if fla else (p + "attention.", p + "feed_forward.")
        norm(p + ("attn_norm" if fla else "ln1"), q + "attn_norm")
        norm(p + ("ffn_norm" if fla else "ln2"), q + "attn_norm_2")
        norm(a + ("g_norm" if fla else "ln_x"), q + "time_mix_ln")
        vector = lambda name, mean, deviation: w.add(name, (hidden,) if fla and "x_" not in name else (1, 1, hidden), mean, deviation).ravel()
        if fla and i == 1:  # as older folders have them
            t[q + "time_mix_lerp_fused.weight"] = w.add(a + "x_x", (6, hidden), 0.5, 0.3)
        else:
            t[q + "time_mix_lerp_fused.weight"] = np.stack([vector(a + "x_" + c, 0.5, 0.3) for c in "rwkvag"])
        for name, mean, deviation in (("k_k", 0.8, 0.2), ("k_a", 1, 0.3)):
            t[q + f"time_mix_{name}.weight"] = vector(a + name, mean, deviation)
        t[q + "time_mix_r_k.weight"] = w.add(a + "r_k", (hidden // s["head"], s["head"]), 0, 0.3)
        for letter, mean in (("w", -1), ("a", 0), ("v", 0.5), ("g", None)):
            if letter == "v" and i == 0 and fla:
                continue  # RWKV's class has them without using them
            first, second, to = (hidden, ranks[letter]), (ranks[letter], hidden), q + f"time_mix_{letter}{{}}.weight"
            if fla:
                t[to.format(1)] = w.matrix(a + letter + "_lora.lora.0.weight", *first[::-1])
                t[to.format(2)] = w.matrix(a + letter + "_lora.lora.2.weight", *second[::-1])
            else:
                t[to.format(1)] = w.matrix(a + letter + "1", *first).T
                t[to.format(2)] = w.matrix(a + letter + "2", *second).T
            if mean is not None:
                t[to.format(0)] = w.add(a + (letter + "_lora.lora.2.bias" if fla else letter + "0"), (hidden,) if fla else (1, 1, hidden), mean, 1).ravel()
        for ours, theirs in (("receptance", "r_proj"), ("key", "k_proj"), ("value", "v_proj"), ("output", "o_proj")):
            t[q + f"time_mix_{ours}.weight"] = w.matrix(a + (theirs if fla else ours) + ".weight", hidden, hidden)
        t[q + "channel_mix_lerp_k.weight"] = vector(f + "x_k", 0.5, 0.3)
        t[q + "channel_mix_key.weight"] = w.matrix(f + "key.weight", s["ffn"], hidden)
        t[q + "channel_mix_value.weight"] = w.matrix(f + "value.weight", hidden, s["ffn"])
    norm("model.norm" if fla else "model.ln_out", "output_norm")
    t["output.weight"] = w.matrix("lm_head.weight" if fla else "head.weight", n_vocab, hidden)


def write_folder(folder, dialect, kind, seed):
    """The model that lies in the folder then, for rwkv.forward()."""
    s = SMALL if dialect.startswith("small_") else SIZES
    dialect = dialect.removeprefix("small_")
    tokens = rwkv.world_tokens(n_merges=40)
    n_vocab = len(tokens) + 8  # tables have rows that no token uses
    w, t = Weights(np.random.default_rng(seed), Type[kind.upper()]), {}
    six(w, t, s, n_vocab) if dialect == "rwkv6_hf" else seven(w, t, s, n_vocab, dialect == "rwkv7_fla")
    folder.mkdir(parents=True, exist_ok=True)
    w.save(folder / "model.safetensors")
    config = config_of(dialect, s, n_vocab)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "rwkv_vocab_v20230424.txt").write_text(vocabulary_file(tokens))
    (folder / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": False, "tokenizer_class": "RwkvTokenizer"}) + "\n")
    keys = {"attention.layer_norm_epsilon": config.get("layer_norm_epsilon", config.get("norm_eps")), "wkv.head_size": s["head"],
            "block_count": s["layers"], "rescale_every_n_layers": config.get("rescale_every", 0)}
    return Model(arch=config["model_type"], tensors=t, keys=keys, types={name: kind.upper() for name in w.raw})
