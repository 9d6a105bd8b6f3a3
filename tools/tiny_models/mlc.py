"""Saves a model of transformers as MLC does, and gpt-oss with mxfp4 experts: quantized by the descriptions in src/quant/q4f16_1.h and
src/quant/mxfp4.h. The weights in the model become what was stored, so that its logits are those of the stored values.
"""
import json

import numpy as np
import torch
from safetensors.torch import save_file

# Phi-3's modules have names of their own in MLC.
PHI3_NAMES = [("model.embed_tokens.", "transformer.embd."), ("model.norm.", "transformer.norm."), ("model.layers.", "transformer.h."),
              (".input_layernorm.", ".ln."), (".self_attn.qkv_proj.", ".mixer.qkv_proj."), (".self_attn.o_proj.", ".mixer.out_proj.")]
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def q4(x, scale_type):
    """[rows, columns] -> (codes u32 [rows, columns / 8], scales [rows, columns / 32], values): x = scale * (code - 7)."""
    groups = x.reshape(len(x), -1, 32)
    scale = (np.abs(groups).max(-1) / 7).astype(scale_type)
    step = scale.astype(np.float32)[..., None]
    codes = np.clip(np.rint(groups / np.where(step == 0, 1, step)) + 7, 0, 14).astype(np.uint32)
    values = (step * (codes.astype(np.float32) - 7)).reshape(x.shape)
    eights = codes.reshape(len(x), -1, 8)
    return (eights << (4 * np.arange(8, dtype=np.uint32))).sum(-1).astype(np.uint32), scale, values


def as_bf16(x):
    """f32 values cut to bf16, as u16."""
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def fused(tensors, is_qwen):
    """q, k and v side by side, gate and up too, as MLC's models have them."""
    out = {}
    for name, x in tensors.items():
        if name.endswith(("q_proj.weight", "q_proj.bias")):
            parts = [tensors[name.replace("q_proj", p)] for p in ("q_proj", "k_proj", "v_proj")]
            out[name.replace("q_proj", "c_attn" if is_qwen else "qkv_proj")] = np.concatenate(parts)
        elif name.endswith("gate_proj.weight"):
            out[name.replace("gate_proj", "gate_up_proj")] = np.concatenate([x, tensors[name.replace("gate_proj", "up_proj")]])
        elif not any(part in name for part in ("k_proj", "v_proj", "up_proj.weight")) or "qkv_proj" in name or "gate_up_proj" in name:
            out[name] = x
    return out


def save(model, folder, kind):
    tensors = {n: p.detach().numpy() for n, p in model.named_parameters()}
    quantized = kind.startswith("q4")
    stored = {}
    for name, p in model.named_parameters():
        x = tensors[name]
        if quantized and x.ndim == 2:
            # f32 scales are kept as bf16 in the shards.
            cut = x if kind == "q4f16_1" else x
            _, scale, values = q4(cut, np.float16 if kind == "q4f16_1" else np.float32)
            if kind == "q4f32_1":
                scale = (as_bf16(scale).astype(np.uint32) << 16).view(np.float32)
                step = scale[..., None]
                groups = x.reshape(len(x), -1, 32)
                codes = np.clip(np.rint(groups / np.where(step == 0, 1, step)) + 7, 0, 14)
                values = (step * (codes - 7)).reshape(x.shape).astype(np.float32)
            tensors[name] = values
        elif kind == "q4f32_1":
            tensors[name] = (as_bf16(x).astype(np.uint32) << 16).view(np.float32).reshape(x.shape)
        else:
            tensors[name] = x.astype(np.float16).astype(np.float32)
        p.data = torch.from_numpy(tensors[name].copy())
    is_phi3, is_qwen = model.config.model_type == "phi3", model.config.model_type.startswith("qwen")
    if model.config.tie_word_embeddings:
        tensors.pop("lm_head.weight", None)
    for name, x in fused(tensors, is_qwen).items():
        if is_phi3:
            for old, new in PHI3_NAMES:
                name = name.replace(old, new)
        if quantized and x.ndim == 2:
            stored |= requantized(name.removesuffix(".weight"), x, kind)
        elif kind == "q4f32_1":
            stored[name] = (as_bf16(x), "float32", "f32-to-bf16", x.shape)
        else:
            stored[name] = (x.astype(np.float16), "float16", "raw", x.shape)
    write(model, folder, kind, stored)


def requantized(stem, values, kind):
    """Codes and scales of values that are exact already: the scale of a group is its finest step."""
    groups = values.reshape(len(values), -1, 32)
    scale = (np.abs(groups).max(-1) / 7).astype(np.float32)
    # The largest value has the code 0 or 14, so a seventh of it is the scale again.
    scale = scale.astype(np.float16) if kind == "q4f16_1" else ((as_bf16(scale + scale * 2**-9)).astype(np.uint32) << 16).view(np.float32)
    step = scale.astype(np.float32)[..., None]
    codes = (np.rint(groups / np.where(step == 0, 1, step)) + 7).astype(np.uint32)
    again = step * (codes.astype(np.float32) - 7)
    assert np.array_equal(again, groups), f"{stem} is not stored exactly"
    packed = (codes.reshape(len(values), -1, 8) << (4 * np.arange(8, dtype=np.uint32))).sum(-1).astype(np.uint32)
    if kind == "q4f16_1":
        scales = (scale, "float16", "raw", scale.shape)
    else:
        scales = (as_bf16(scale), "float32", "f32-to-bf16", scale.shape)
    return {f"{stem}.q_weight": (packed, "uint32", "raw", packed.shape), f"{stem}.q_scale": scales}


def write(model, folder, kind, stored):
    """Two shards, an index and the chat config."""
    shards, half = [[], []], sum(a[0].nbytes for a in stored.values()) / 2
    done = 0
    for name, entry in stored.items():
        shards[done > half].append((name, entry))
        done += entry[0].nbytes
    records = []
    for i, shard in enumerate(shards):
        data, entries = b"", []
        for name, (array, dtype, encoding, shape) in shard:
            entries.append({"name": name, "shape": list(shape), "dtype": dtype, "format": encoding, "nbytes": array.nbytes,
                            "byteOffset": len(data)})
            data += np.ascontiguousarray(array).tobytes()
        path = f"params_shard_{i}.bin"
        (folder / path).write_bytes(data)
        records.append({"dataPath": path, "format": "raw-shard", "nbytes": len(data), "records": entries})
    (folder / "tensor-cache.json").write_text(json.dumps({"metadata": {"ParamSize": len(stored)}, "records": records}))
    c = model.config
    rope = dict(c.rope_parameters)
    config = {key: getattr(c, key) for key in ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers",
                                               "num_key_value_heads", "rms_norm_eps", "vocab_size", "tie_word_embeddings")}
    config |= {"head_dim": getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads, "tensor_parallel_shards": 1,
               "context_window_size": c.max_position_embeddings}
    base = rope.pop("rope_theta")
    config["rope_theta" if c.model_type.startswith("qwen") else "position_embedding_base"] = base
    if rope["rope_type"] != "default":
        config["rope_scaling"] = rope
    if c.model_type == "phi3":
        config |= {"max_position_embeddings": c.max_position_embeddings, "original_max_position_embeddings": c.original_max_position_embeddings}
    (folder / "mlc-chat-config.json").write_text(json.dumps(
        {"model_type": c.model_type, "quantization": kind, "model_config": config, "vocab_size": c.vocab_size,
         "context_window_size": c.max_position_embeddings}))


def mxfp4(x):
    """[.., columns] -> (codes u8 [.., columns / 32, 16], exponents u8 [.., columns / 32], values)."""
    groups = x.reshape(*x.shape[:-1], -1, 32)
    exponent = np.floor(np.log2(np.maximum(np.abs(groups).max(-1), 1e-30))) - 2
    step = 2.0 ** exponent[..., None]
    magnitude = np.abs(groups / step)
    codes = np.abs(magnitude[..., None] - FP4).argmin(-1)
    values = np.sign(groups) * FP4[codes] * step
    nibbles = (codes + 8 * (groups < 0)).astype(np.uint8)
    return nibbles[..., 0::2] | nibbles[..., 1::2] << 4, (exponent + 127).astype(np.uint8), values.reshape(x.shape).astype(np.float32)


def save_mxfp4(model, folder):
    tensors = {}
    for name, p in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[name] = p.data.contiguous()
            continue
        # In the folder rows are outputs; the model multiplies the other way round.
        codes, exponents, values = mxfp4(p.data.numpy().swapaxes(1, 2).copy())
        p.data = torch.from_numpy(np.ascontiguousarray(values.swapaxes(1, 2)))
        tensors[name + "_blocks"], tensors[name + "_scales"] = torch.from_numpy(codes), torch.from_numpy(exponents)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads(model.config.to_json_string(use_diff=False))
    config |= {"architectures": ["GptOssForCausalLM"], "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": []}}
    (folder / "config.json").write_text(json.dumps(config))
