#!/usr/bin/env python3
"""Makes tiny models with pictures and sounds by transformers, random weights, and what transformers computes of them, stage by stage.

usage: tools/make_media_goldens.py OUT --inputs FOLDER [--only qwen2audio,qwen2omni]

FOLDER has sounds of 16 kHz (.wav) and pictures. For each NAME it writes NAME.gguf, NAME-mmproj.gguf (keys and tensors called as llama.cpp's converter
calls them), NAME.txt, NAME.json and the files of each stage, in the form that a kit of golden media models has: tools/make_tiny_encoders.py
--validate OUT holds the float64 reference to them. Needs torch and transformers 5 besides tools/requirements.txt.
"""
import argparse
import json
import shutil
import wave
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from PIL import Image
from tiny_models import media_models
from tiny_models.vocabulary import CONTROL, byte_characters, byte_level


def vocabulary(specials):
    """Tokens and types: all bytes, one merge that no prompt here has, and the family's special tokens."""
    tokens, types, merges, _, end = byte_level(1)
    return tokens + specials, types + [CONTROL] * len(specials), merges, end


def encode(text, tokens):
    """Ids of a text of bytes and special tokens."""
    specials = sorted((t for t in tokens if t.startswith("<") and len(t) > 4), key=len, reverse=True)
    table, ids = {t: i for i, t in enumerate(tokens)}, []
    byte = byte_characters()
    while text:
        special = next((s for s in specials if text.startswith(s)), None)
        ids += [table[special]] if special else [table[byte[b]] for b in text[0].encode()]
        text = text[len(special) if special else 1:]
    return ids


def read_sound(path):
    with wave.open(str(path)) as f:
        assert f.getframerate() == 16000 and f.getnchannels() == 1 and f.getsampwidth() == 2
        return np.frombuffer(f.readframes(f.getnframes()), np.int16).astype(np.float32) / 32768


def randomize(model, seed):
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                is_norm = name.endswith("weight")
                p.copy_((1.0 if is_norm else 0.0) + 0.2 * torch.randn_like(p))
            elif "embed" in name:
                p.copy_(torch.randn_like(p) * (0.5 if "position" in name else 1.0))
            else:
                p.copy_(torch.randn_like(p) * p[0].numel() ** -0.5)


def write_file(path, architecture, keys, tensors):
    w = gguf.GGUFWriter(path, architecture)
    for name, value in keys.items():
        if isinstance(value, bool):
            w.add_bool(name, value)
        elif isinstance(value, int):
            w.add_uint32(name, value)
        elif isinstance(value, float):
            w.add_float32(name, value)
        elif isinstance(value, str):
            w.add_string(name, value)
        else:
            w.add_array(name, value)
    for name, data in tensors.items():
        w.add_tensor(name, np.ascontiguousarray(data))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make(folder, spec, inputs):
    tokens, types, merges, end = vocabulary(spec.specials)
    model = spec.model(tokens)
    randomize(model, spec.seed)
    text_tensors, mmproj_tensors = {}, {}
    with torch.no_grad():
        for name, p in model.named_parameters():
            target = spec.rename(name)
            if target is None:
                continue
            of_text, gguf_name = target
            half = p.dim() > 1 and (of_text or "conv" in name)
            if half:
                p.copy_(p.half().float())
            data = p.numpy().astype(np.float16 if half else np.float32)
            (text_tensors if of_text else mmproj_tensors)[gguf_name] = data
    mmproj_tensors = spec.finish(mmproj_tensors, model)
    text_tensors = spec.finish_text(text_tensors, model)
    text_keys = spec.text_keys | {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": tokens,
                                  "tokenizer.ggml.token_type": types, "tokenizer.ggml.merges": merges, "tokenizer.ggml.eos_token_id": end,
                                  "tokenizer.ggml.add_bos_token": False}
    model.eval()
    for kind in spec.media:
        stem = spec.name if len(spec.media) == 1 else f"{spec.name}-{kind}"
        write_file(folder / f"{stem}.gguf", spec.architecture, text_keys, text_tensors)
        write_file(folder / f"{stem}-mmproj.gguf", "clip", {"general.type": "mmproj"} | spec.keys, mmproj_tensors)
        prompt = "See: <__media__> What now?"
        (folder / f"{stem}.txt").write_text(prompt)
        facts = {"arch": spec.architecture, "media": kind, "weights": "f16", "weights_mmproj": "f16", "prompt": prompt, "max_tokens": spec.max_tokens,
                 "files": {}, "transformers": transformers.__version__,
                 "keys": {k: v for k, v in spec.keys.items() if k.startswith("clip.")}}
        for path in inputs[kind]:
            before, mark, after = spec.around[kind]
            with torch.no_grad():
                media = spec.encode(model, kind, read_sound(path) if kind == "audio" else Image.open(path).convert("RGB"))
                rows = media["rows"].float().numpy()
                head, tail = prompt.split("<__media__>")
                ids = encode(head + before, tokens) + [tokens.index(mark)] * len(rows) + encode(after + tail, tokens)
                logits = spec.logits(model, kind, torch.tensor([ids]), media)[0].float().numpy()
                greedy, margin, written = [], 1e9, list(ids)
                for _ in range(spec.n_greedy):
                    last = spec.logits(model, kind, torch.tensor([written]), media)[0, -1].float().numpy()
                    order = np.argsort(last)
                    margin = min(margin, float((last[order[-1]] - last[order[-2]]) / last.std()))
                    greedy.append(int(order[-1]))
                    written.append(int(order[-1]))
            first = ids.index(tokens.index(mark))
            positions = [first - 2, first - 1] + list(range(first + len(rows), len(ids)))
            at = f"{stem}.{path.stem}"
            np.savez(folder / f"{at}.pixels.npz", **{f"tile{i}": np.ascontiguousarray(t) for i, t in enumerate(media["tiles"])})
            np.save(folder / f"{at}.embed.npy", rows)
            np.save(folder / f"{at}.logits.npy", logits[positions])
            facts["files"][path.name] = {"tokens": [-1 if t == tokens.index(mark) else t for t in ids], "positions": positions, "greedy": greedy,
                                         "greedy_margin": margin, "sounding": media.get("sounding", 0)}
            print(f"{at:30s} {len(rows)} rows of {rows.shape[1]}, margin {margin:.3f}", flush=True)
        (folder / f"{stem}.json").write_text(json.dumps(facts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="OUT")
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--only", default=",".join(media_models.MODELS))
    args = parser.parse_args()
    copied = args.folder / "inputs"
    copied.mkdir(parents=True, exist_ok=True)
    for path in sorted(args.inputs.iterdir()):
        if path.suffix in (".wav", ".png", ".jpg"):
            shutil.copy(path, copied / path.name)
    inputs = {"audio": sorted(copied.glob("*.wav")), "image": sorted(p for p in copied.iterdir() if p.suffix != ".wav")}
    for name in args.only.split(","):
        make(args.folder, media_models.MODELS[name](), inputs)


if __name__ == "__main__":
    main()
