#!/usr/bin/env python3
"""Makes tiny encoders of pictures and sounds with random weights (mmproj files), and the rows that each gives.

usage: tools/make_tiny_encoders.py OUT [--only gemma3,voxtral]
       tools/make_tiny_encoders.py --validate FOLDER     the reference against NAME.FILE.embed.npy of NAME-mmproj.gguf and NAME.FILE.pixels.npz

For each NAME it writes NAME.gguf and NAME.npy, float32 rows of what pattern() gives as [height, width, 3] pixels or [bins, frames] of a sound. The
same command gives the same files; those of tests/encoders/ are what it makes. Needs tools/requirements.txt.
"""
import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gguf
import numpy as np
from tiny_models import encoders

HIDDEN, HEADS, FFN, WIDTH, LAYERS = 32, 2, 40, 24, 2
# kind, keys beyond the common ones, patch, image size, the tile's height and width
SHAPES = {
    "gemma3": ("gemma3", {"clip.use_gelu": True, "clip.vision.projector.scale_factor": 2}, 4, 24, (24, 24)),
    "gemma4": ("gemma4v", {}, 4, 48, (24, 36)),
    "idefics3": ("idefics3", {"clip.use_gelu": True, "clip.vision.projector.scale_factor": 3}, 4, 24, (24, 24)),
    "internvl": ("internvl", {"clip.use_gelu": True, "clip.vision.projector.scale_factor": 2}, 4, 16, (16, 16)),
    "llava": ("mlp", {"clip.use_gelu": False, "clip.vision.feature_layer": [1]}, 4, 20, (20, 20)),
    "mistral3": ("pixtral", {"clip.use_silu": True, "clip.vision.spatial_merge_size": 2}, 4, 32, (24, 16)),
    "pixtral": ("pixtral", {"clip.use_gelu": True}, 4, 32, (12, 20)),
    "qwen25vl": ("qwen2.5vl_merger", {"clip.use_silu": True, "clip.vision.n_wa_pattern": 2}, 8, 560, (32, 128)),
    "qwen3vl": ("qwen3vl_merger", {"clip.use_gelu": True, "clip.vision.spatial_merge_size": 2, "clip.vision.is_deepstack_layers": [True, False]},
                4, 12, (16, 24)),
    "voxtral": ("voxtral", {"clip.audio.num_mel_bins": 8, "clip.audio.projector.stack_factor": 4}, 0, 0, (8, 48)),
    "qwen2audio": ("qwen2a", {"clip.audio.num_mel_bins": 8}, 0, 0, (8, 48)),
    "qwen2omni": ("qwen2.5o", {"clip.audio.num_mel_bins": 8}, 0, 0, (8, 230)),
    "ultravox": ("ultravox", {"clip.audio.num_mel_bins": 8, "clip.audio.projector.stack_factor": 8}, 0, 0, (8, 41)),
    "qwen2vl": ("qwen2vl_merger", {}, 8, 560, (32, 48)),
    "gemma4audio": ("gemma4a", {"clip.audio.num_mel_bins": 8}, 0, 0, (8, 75)),
    "gemma4clipped": ("gemma4v", {}, 4, 48, (24, 36)),
}
SOUNDING = {"gemma4audio": 73, "qwen2audio": 43, "qwen2omni": 229}  # frames before the sound ends, where that is not all
SOUNDS = ("gemma4audio", "qwen2audio", "qwen2omni", "ultravox", "voxtral")
HALF = ("pixtral", "qwen3vl", "voxtral")  # F16 matrices, as converters write them
GEMMA4 = ("gemma4", "gemma4clipped")
RMS = GEMMA4 + ("mistral3", "pixtral", "qwen25vl")
POSITIONS = {"gemma3": 36, "idefics3": 36, "internvl": 17, "llava": 26, "qwen3vl": 9}


class Writer:
    def __init__(self, path, seed, half):
        self.gguf = gguf.GGUFWriter(path, "clip")
        self.random = np.random.default_rng(seed)
        self.half = half

    def key(self, name, value):
        if isinstance(value, bool):
            self.gguf.add_bool(name, value)
        elif isinstance(value, int):
            self.gguf.add_uint32(name, value)
        elif isinstance(value, float):
            self.gguf.add_float32(name, value)
        elif isinstance(value, str):
            self.gguf.add_string(name, value)
        else:
            self.gguf.add_array(name, value)

    def tensor(self, name, *shape, scale=1.0, offset=0.0, matrix=False):
        data = offset + scale * self.random.standard_normal(shape)
        self.gguf.add_tensor(name, data.astype(np.float16 if matrix and self.half else np.float32))

    def linear(self, name, rows, columns, bias=True, shape=None):
        self.tensor(name + ".weight", *(shape or (rows, columns)), scale=columns ** -0.5, matrix=True)
        if bias:
            self.tensor(name + ".bias", rows, scale=0.2)

    def norm(self, name, n, bias=True):
        self.tensor(name + ".weight", n, scale=0.2, offset=1.0)
        if bias:
            self.tensor(name + ".bias", n, scale=0.2)

    def bounds(self, name, far=False):
        """Bounds of what goes into a product and comes out of it, which clip some values, or clip nothing."""
        for side in ("input", "output"):
            bound = np.inf if far else abs(self.random.normal(1.5, 0.2))
            for end, value in (("min", -bound), ("max", bound * 0.9)):
                self.gguf.add_tensor(f"{name}.{side}_{end}", np.array([value], np.float32))

    def finish(self):
        self.gguf.write_header_to_file()
        self.gguf.write_kv_data_to_file()
        self.gguf.write_tensors_to_file()
        self.gguf.close()


def write_blocks(w, name, prefix):
    plain = name in GEMMA4 + ("mistral3", "pixtral")  # without biases
    for l in range(LAYERS):
        b = f"{prefix}.blk.{l}."
        w.norm(b + "ln1", HIDDEN, name not in RMS)
        w.norm(b + "ln2", HIDDEN, name not in RMS)
        if name == "qwen3vl":
            w.linear(b + "attn_qkv", 3 * HIDDEN, HIDDEN)
        else:
            for part in "qkv":
                w.linear(b + "attn_" + part, HIDDEN, HIDDEN, bias=not plain and not (name in SOUNDS and part == "k"))
        w.linear(b + "attn_out", HIDDEN, HIDDEN, not plain)
        w.linear(b + "ffn_up", FFN, HIDDEN, not plain)
        w.linear(b + "ffn_down", HIDDEN, FFN, not plain)
        if name in RMS:
            w.linear(b + "ffn_gate", FFN, HIDDEN, not plain)
        if name in GEMMA4:
            for part in ("attn_q_norm", "attn_k_norm"):
                w.norm(b + part, HIDDEN // HEADS, bias=False)
            for part in ("attn_post_norm", "ffn_post_norm"):
                w.norm(b + part, HIDDEN, bias=False)
        if name == "gemma4clipped":
            for part in ("attn_q", "attn_k", "attn_v", "attn_out", "ffn_up", "ffn_gate", "ffn_down"):
                w.bounds(b + part, far=l == 1 and part == "ffn_up")
        if name == "internvl":
            for part in ("ls1", "ls2"):
                w.tensor(f"{b}{part}.weight", HIDDEN, scale=0.2, offset=0.5)


def write_conformer(w):
    """Blocks and projections of Gemma 4's sounds. Bounds that clip some values, none at all, and those that are there and clip nothing."""
    bins, middle, last, taps = 8, 12, 6, 5

    def product(name, rows, columns):
        w.linear(name, rows, columns, bias=False)
        if not name.endswith(".attn_v"):
            w.bounds(name, far=name.endswith(".attn_out"))

    w.tensor("a.conv1d.0.weight", middle, 1, 3, 3, scale=0.3)
    w.norm("a.conv1d.0.norm", middle, bias=False)
    w.tensor("a.conv1d.1.weight", last, middle, 3, 3, scale=0.1)
    w.norm("a.conv1d.1.norm", last, bias=False)
    w.linear("a.input_projection", HIDDEN, bins // 4 * last, bias=False)
    for l in range(LAYERS):
        b = f"a.blk.{l}."
        for which in ("", "_1"):
            w.norm(f"{b}ffn_norm{which}", HIDDEN, bias=False)
            w.norm(f"{b}ffn_post_norm{which}", HIDDEN, bias=False)
            product(f"{b}ffn_up{which}", FFN, HIDDEN)
            product(f"{b}ffn_down{which}", HIDDEN, FFN)
        for part in ("attn_pre_norm", "attn_post_norm", "conv_norm", "norm_conv", "ln2"):
            w.norm(b + part, HIDDEN, bias=False)
        for part in ("attn_q", "attn_k", "attn_v", "attn_out", "conv_pw2"):
            product(b + part, HIDDEN, HIDDEN)
        product(b + "conv_pw1", 2 * HIDDEN, HIDDEN)
        w.linear(b + "attn_k_rel", HIDDEN, HIDDEN, bias=False)
        w.tensor(b + "per_dim_scale.weight", HIDDEN // HEADS, scale=0.2, offset=0.7)
        w.tensor(b + "conv_dw.weight", HIDDEN, taps, scale=0.4)
    w.linear("a.pre_encode.out", HIDDEN, HIDDEN)
    w.linear("mm.a.input_projection", WIDTH, HIDDEN, bias=False)


def write_projector(w, name):
    if name == "gemma3":
        w.norm("mm.soft_emb_norm", HIDDEN, bias=False)
        w.tensor("mm.input_projection.weight", HIDDEN, WIDTH, scale=HIDDEN ** -0.5, matrix=True)
    elif name in GEMMA4:
        w.tensor("v.std_bias", HIDDEN, scale=0.2)
        w.tensor("v.std_scale", HIDDEN, scale=0.1, offset=1.0)
        w.linear("mm.input_projection", WIDTH, HIDDEN, bias=False)
    elif name == "idefics3":
        w.linear("mm.model.fc", WIDTH, 9 * HIDDEN, bias=False)
    elif name == "internvl":
        w.norm("mm.model.mlp.0", 4 * HIDDEN)
        w.linear("mm.model.mlp.1", WIDTH, 4 * HIDDEN)
        w.linear("mm.model.mlp.3", WIDTH, WIDTH)
    elif name == "llava":
        w.linear("mm.0", WIDTH, HIDDEN)
        w.linear("mm.2", WIDTH, WIDTH)
    elif name in ("mistral3", "pixtral"):
        w.tensor("v.token_embd.img_break", WIDTH)
        if name == "mistral3":
            w.norm("mm.input_norm", HIDDEN, bias=False)
            w.linear("mm.patch_merger", HIDDEN, 4 * HIDDEN, bias=False)
        w.linear("mm.1", WIDTH, HIDDEN, name == "pixtral")
        w.linear("mm.2", WIDTH, WIDTH, name == "pixtral")
    elif name in ("qwen2audio", "qwen2omni"):
        w.linear("mm.a.fc", WIDTH, HIDDEN)
    elif name == "ultravox":
        w.norm("mm.a.norm_pre", 8 * HIDDEN, bias=False)
        w.linear("mm.a.mlp.1", 2 * HIDDEN, 8 * HIDDEN, bias=False)
        w.norm("mm.a.norm_mid", HIDDEN, bias=False)
        w.linear("mm.a.mlp.2", WIDTH, HIDDEN, bias=False)
    elif name == "voxtral":
        w.linear("mm.a.mlp.1", WIDTH, 4 * HIDDEN, bias=False)
        w.linear("mm.a.mlp.2", WIDTH, WIDTH, bias=False)
    else:
        w.linear("mm.0", 4 * HIDDEN, 4 * HIDDEN)
        w.linear("mm.2", WIDTH, 4 * HIDDEN)
        if name == "qwen3vl":
            w.norm("v.deepstack.0.norm", 4 * HIDDEN)
            w.linear("v.deepstack.0.fc1", 4 * HIDDEN, 4 * HIDDEN)
            w.linear("v.deepstack.0.fc2", WIDTH, 4 * HIDDEN)


def write_model(path, name, seed):
    kind, keys, patch, size, _ = SHAPES[name]
    w = Writer(path, seed, name in HALF)
    sense = "audio" if name in SOUNDS else "vision"
    w.key(f"clip.has_{sense}_encoder", True)
    w.key(f"clip.{sense}.projector_type" if name.startswith("gemma4") else "clip.projector_type", kind)
    common = {"projection_dim": WIDTH, "embedding_length": HIDDEN, "feed_forward_length": FFN, "block_count": LAYERS, "attention.head_count": HEADS,
              "attention.layer_norm_epsilon": 1e-5}
    if sense == "vision":
        common |= {"image_size": size, "patch_size": patch, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.5, 0.6, 0.7]}
    for key, value in ({f"clip.{sense}.{k}": v for k, v in common.items()} | keys).items():
        w.key(key, value)
    if name == "gemma4audio":
        write_conformer(w)
        return w.finish()
    if sense == "audio":
        bins = keys["clip.audio.num_mel_bins"]
        w.linear("a.conv1d.1", HIDDEN, 3 * bins, shape=(HIDDEN, bins, 3))
        w.linear("a.conv1d.2", HIDDEN, 3 * HIDDEN, shape=(HIDDEN, HIDDEN, 3))
        w.tensor("a.position_embd.weight", 100 if name == "qwen2omni" else 32, HIDDEN, scale=0.5)
        w.norm("a.post_ln", HIDDEN)
    else:
        pixels = 3 * patch * patch
        w.linear("v.patch_embd", HIDDEN, pixels, name in ("gemma3", "idefics3", "internvl", "qwen3vl"), (HIDDEN, 3, patch, patch))
        if name.startswith("qwen"):
            w.tensor("v.patch_embd.weight.1", HIDDEN, 3, patch, patch, scale=pixels ** -0.5, matrix=True)
        if name in POSITIONS:
            w.tensor("v.position_embd.weight", POSITIONS[name], HIDDEN)
        if name in GEMMA4:
            w.tensor("v.position_embd.weight", 2, 12, HIDDEN)
        if name in ("internvl", "llava"):
            w.tensor("v.class_embd", HIDDEN)
        if name in ("llava", "mistral3", "pixtral"):
            w.norm("v.pre_ln", HIDDEN, name == "llava")
        if name in ("gemma3", "idefics3", "qwen25vl", "qwen2vl", "qwen3vl"):
            w.norm("v.post_ln", HIDDEN, name != "qwen25vl")
    write_blocks(w, name, sense[0] if sense == "audio" else "v")
    write_projector(w, name)
    w.finish()


def pattern(shape):
    """Values from -1 to 1 that look random: tests/encoders_test.cpp makes the same."""
    i = np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(1)
    i = (i * i * np.uint64(2654435761)) % np.uint64(1 << 32)
    return ((i >> np.uint64(8)).astype(np.float32) / np.float32(1 << 23) - 1).reshape(shape)


def make(folder, name):
    path = folder / f"{name}.gguf"
    seed = 2000 + list(SHAPES).index(name)
    write_model(path, name, seed)
    height, width = SHAPES[name][4]
    tile = pattern((height, width) if name in SOUNDS else (height, width, 3))
    rows = encoders.rows(encoders.Encoder(path), tile, SOUNDING.get(name))
    np.save(folder / f"{name}.npy", rows.astype(np.float32))
    print(f"{name:10s} {path.stat().st_size:8d} bytes, rows {rows.shape}", flush=True)


def validate(folder):
    worst = 0.0
    for path in sorted(folder.glob("*-mmproj.gguf")):
        name = path.stem.removesuffix("-mmproj")
        facts = json.loads((folder / f"{name}.json").read_text())
        encoder = encoders.Encoder(path, sound=facts["media"] == "audio")
        for reference in sorted(folder.glob(f"{name}.*.embed.npy")):
            stored = np.load(str(reference).replace(".embed.npy", ".pixels.npz"))
            tiles = [stored[f"tile{i}"] for i in range(len(stored.files))]
            if not encoder.sound:
                mean, std = (np.array(encoder.keys[f"clip.vision.image_{k}"], np.float32) for k in ("mean", "std"))
                tiles = [(t.astype(np.float32) / 255 - mean) / std for t in tiles]
            file = next(f for f in facts["files"] if Path(f).stem == reference.name.split(".")[1])
            sounding = facts["files"][file].get("sounding")
            rows, wanted = np.concatenate([encoders.rows(encoder, t, sounding) for t in tiles]), np.load(reference).astype(np.float64)
            error = ((rows - wanted) ** 2).sum() / (wanted ** 2).sum()
            worst = max(worst, error)
            print(f"{reference.name:26s} NMSE {error:.2e}", flush=True)
    return 0 if worst <= 1e-7 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="OUT")
    parser.add_argument("--only", default=",".join(SHAPES))
    parser.add_argument("--validate", action="store_true")
    args = parser.parse_args()
    if args.validate:
        return validate(args.folder)
    names = args.only.split(",")
    unknown = [n for n in names if n not in SHAPES]
    if unknown:
        parser.error(f"there is no encoder {unknown[0]}; there are {', '.join(SHAPES)}")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        make(args.folder, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
