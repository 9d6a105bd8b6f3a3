"""The models of tools/make_tiny_models.py computed the plain way: float64, whole sequence at once, one formula after the other.

It reads a GGUF file by itself (through the gguf package) and knows nothing of Puna's code, so that the two can be wrong
independently. Sources: Touvron et al. 2023 (LLaMA), the Llama 3.1 model card (rope scaling), the Gemma 3 report.
"""
import numpy as np
from gguf import GGUFReader, dequantize

from tiny_models import rwkv


class Model:
    """Metadata and dequantized float64 tensors, each [rows, columns] or [columns]."""

    def __init__(self, path):
        reader = GGUFReader(path)
        self.meta = {name: field.contents() for name, field in reader.fields.items()}
        self.arch = self.meta["general.architecture"]
        self.types = {t.name: t.tensor_type.name for t in reader.tensors}
        self.tensors = {t.name: dequantize(t.data, t.tensor_type).astype(np.float64) for t in reader.tensors}

    def key(self, name, default=None):
        return self.meta.get(f"{self.arch}.{name}", default)

    def layer(self, i, name):
        return self.tensors[f"blk.{i}.{name}.weight"]


def rms_norm(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def rotate(x, base, factors=None, adjacent=False):
    """Rotates x [tokens, heads, dim] by position. Pairs are (2i, 2i + 1) when adjacent, else (i, i + dim / 2)."""
    n, _, dim = x.shape
    frequency = float(base) ** (-np.arange(0, dim, 2) / dim)
    if factors is not None:
        frequency = frequency / factors
    angle = np.arange(n)[:, None, None] * frequency
    cos, sin = np.cos(angle), np.sin(angle)
    even, odd = (x[..., 0::2], x[..., 1::2]) if adjacent else (x[..., : dim // 2], x[..., dim // 2 :])
    a, b = even * cos - odd * sin, even * sin + odd * cos
    return np.stack([a, b], -1).reshape(x.shape) if adjacent else np.concatenate([a, b], -1)


def attention(q, k, v, window=None):
    """Causal attention of q [tokens, heads, dim] over k and v [tokens, kv heads, dim]; a window of w sees w tokens."""
    n, heads, dim = q.shape
    group = heads // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(dim)
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    hidden = distance < 0
    if window is not None:
        hidden |= distance >= window
    scores[:, hidden] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", weights, v).reshape(n, heads * dim)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def heads_of(model, i, x):
    """q, k and v of layer i, [tokens, heads, dim] each."""
    dim = model.key("attention.key_length", model.key("embedding_length") // model.key("attention.head_count"))
    return [(x @ model.layer(i, name).T).reshape(len(x), -1, dim) for name in ("attn_q", "attn_k", "attn_v")]


def gated_ffn(model, i, x, activation):
    return (activation(x @ model.layer(i, "ffn_gate").T) * (x @ model.layer(i, "ffn_up").T)) @ model.layer(i, "ffn_down").T


def output_matrix(model):
    return model.tensors.get("output.weight", model.tensors["token_embd.weight"])


def llama(model, tokens):
    epsilon, base = model.key("attention.layer_norm_rms_epsilon"), model.key("rope.freq_base", 10000.0)
    factors = model.tensors.get("rope_freqs.weight")
    x = model.tensors["token_embd.weight"][tokens]
    for i in range(model.key("block_count")):
        q, k, v = heads_of(model, i, rms_norm(x, model.layer(i, "attn_norm"), epsilon))
        q, k = rotate(q, base, factors, adjacent=True), rotate(k, base, factors, adjacent=True)
        x = x + attention(q, k, v) @ model.layer(i, "attn_output").T
        x = x + gated_ffn(model, i, rms_norm(x, model.layer(i, "ffn_norm"), epsilon), silu)
    return rms_norm(x, model.tensors["output_norm.weight"], epsilon) @ output_matrix(model).T


def gemma3(model, tokens):
    epsilon = model.key("attention.layer_norm_rms_epsilon")
    x = model.tensors["token_embd.weight"][tokens] * np.sqrt(model.key("embedding_length"))
    for i in range(model.key("block_count")):
        local = (i + 1) % 6 != 0
        base = model.key("rope.freq_base_swa", 10000.0) if local else model.key("rope.freq_base", 1000000.0)
        q, k, v = heads_of(model, i, rms_norm(x, model.layer(i, "attn_norm"), epsilon))
        q = rotate(rms_norm(q, model.layer(i, "attn_q_norm"), epsilon), base)
        k = rotate(rms_norm(k, model.layer(i, "attn_k_norm"), epsilon), base)
        window = model.key("attention.sliding_window") if local else None
        y = attention(q, k, v, window) @ model.layer(i, "attn_output").T
        x = x + rms_norm(y, model.layer(i, "post_attention_norm"), epsilon)
        y = gated_ffn(model, i, rms_norm(x, model.layer(i, "ffn_norm"), epsilon), gelu_tanh)
        x = x + rms_norm(y, model.layer(i, "post_ffw_norm"), epsilon)
    return rms_norm(x, model.tensors["output_norm.weight"], epsilon) @ output_matrix(model).T


FORWARD = {"llama": llama, "gemma3": gemma3, "rwkv6": rwkv.forward, "rwkv7": rwkv.forward}


def logits(model, tokens):
    """[len(tokens), vocabulary], float64."""
    return FORWARD[model.arch](model, np.asarray(tokens))


def nmse(x, reference):
    return float(((x - reference) ** 2).sum() / (reference**2).sum())
