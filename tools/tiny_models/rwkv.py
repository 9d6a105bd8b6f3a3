"""Tiny models of RWKV-6 and RWKV-7 with random weights, and what they compute, the plain way: float64, token after token.

Written from the papers (Peng et al. 2024, arXiv 2404.05892; Peng et al. 2025, arXiv 2503.14456) and the names that GGUF files have;
it shares no code with Puna. Sizes are as small as shows everything: two heads, a state that decays by the token, values of a first
layer that later ones mix in.
"""
import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

from tiny_models import blocks, vocabulary

ARCHITECTURES = ["rwkv6", "rwkv7"]
LAYERS, HIDDEN, HEAD, FFN, RANK = 3, 64, 32, 96, 16
HALVED_EVERY = 2  # layers of RWKV-6, whose files may say so


def world_tokens(n_merges):
    """All bytes, pieces of words, and tokens that cross words and characters."""
    words = [" " + w for line in vocabulary.TEXT.splitlines() for w in line.split()]
    pieces = [(a + b).encode() for a, b in vocabulary.train(words, n_merges)]
    crossing = [b"\n\n", b"'s", b"\\n", b"\t\t", " \u4e2d".encode(), "\u4e2d\u6587".encode(), b"\xe6\x96", b"l the", b"the river"]
    return [bytes([b]) for b in range(256)] + [p for p in dict.fromkeys(pieces + crossing) if len(p) > 1]


def world_vocabulary(n_merges):
    """(tokens as GGUF has them, types)"""
    tokens = world_tokens(n_merges)
    return ["<s>"] + [repr(t)[2:-1] for t in tokens], [vocabulary.CONTROL] + [vocabulary.NORMAL] * len(tokens)


def write_model(path, arch, kind, seed):
    random = np.random.default_rng(seed)
    tokens, types = world_vocabulary(n_merges=40)
    writer = gguf.GGUFWriter(path, arch)
    writer.add_name(path.stem)
    writer.add_block_count(LAYERS)
    writer.add_context_length(4096)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(0)
    writer.add_layer_norm_eps(1e-5)
    writer.add_wkv_head_size(HEAD)
    if arch == "rwkv6":
        writer.add_rescale_every_n_layers(HALVED_EVERY)
        writer.add_time_mix_extra_dim(RANK)
        writer.add_time_decay_extra_dim(RANK)
    else:
        writer.add_decay_lora_rank(RANK)
        writer.add_iclr_lora_rank(RANK)
        writer.add_value_residual_mix_lora_rank(RANK)
        writer.add_gate_lora_rank(RANK)
    writer.add_tokenizer_model("rwkv")
    writer.add_vocab_size(len(tokens))
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_eot_token_id(tokens.index("\\n\\n"))

    def matrix(name, rows, columns, stored=Type[kind.upper()]):
        data = blocks.encode(random.standard_normal((rows, columns)) / np.sqrt(columns), stored)
        writer.add_tensor(name + ".weight", data, raw_dtype=stored)

    def vector(name, shape, mean, deviation):
        writer.add_tensor(name, (mean + deviation * random.standard_normal(shape)).astype(np.float32))

    def norm(name):
        vector(name + ".weight", HIDDEN, 1, 0.2)
        vector(name + ".bias", HIDDEN, 0, 0.2)

    def low_rank(name, first, second):
        matrix(name.format(1), RANK, first, Type.F32)
        matrix(name.format(2), second, RANK, Type.F32)

    matrix("token_embd", len(tokens), HIDDEN)
    norm("token_embd_norm")
    for i in range(LAYERS):
        p = f"blk.{i}."
        norm(p + "attn_norm")
        norm(p + "attn_norm_2")
        for name in ("receptance", "key", "value", "output"):
            matrix(p + "time_mix_" + name, HIDDEN, HIDDEN)
        norm(p + "time_mix_ln")
        matrix(p + "channel_mix_key", FFN, HIDDEN)
        matrix(p + "channel_mix_value", HIDDEN, FFN)
        vector(p + "channel_mix_lerp_k.weight", HIDDEN, 0.5, 0.3)
        if arch == "rwkv6":
            matrix(p + "time_mix_gate", HIDDEN, HIDDEN)
            matrix(p + "time_mix_w1", 5 * RANK, HIDDEN, Type.F32)
            vector(p + "time_mix_w2.weight", (5, HIDDEN, RANK), 0, 0.1)
            vector(p + "time_mix_lerp_x.weight", HIDDEN, 0.5, 0.3)
            if i == 0:  # as older files have them
                for letter in "wkvrg":
                    vector(p + f"time_mix_lerp_{letter}.weight", HIDDEN, 0.5, 0.3)
            else:
                vector(p + "time_mix_lerp_fused.weight", (5, 1, 1, HIDDEN), 0.5, 0.3)
            vector(p + "time_mix_first.weight", (HIDDEN // HEAD, HEAD), 0.5, 0.5)
            vector(p + "time_mix_decay.weight", HIDDEN, -2, 1.5)
            low_rank(p + "time_mix_decay_w{}", HIDDEN, HIDDEN)
            vector(p + "channel_mix_lerp_r.weight", HIDDEN, 0.5, 0.3)
            matrix(p + "channel_mix_receptance", HIDDEN, HIDDEN)
        else:
            vector(p + "time_mix_lerp_fused.weight", (6, 1, 1, HIDDEN), 0.5, 0.3)
            for letter, mean in (("w", -1), ("a", 0), ("v", 0.5)):
                vector(p + f"time_mix_{letter}0.weight", HIDDEN, mean, 1)
                low_rank(p + f"time_mix_{letter}{{}}", HIDDEN, HIDDEN)
            low_rank(p + "time_mix_g{}", HIDDEN, HIDDEN)
            vector(p + "time_mix_k_k.weight", HIDDEN, 0.8, 0.2)
            vector(p + "time_mix_k_a.weight", HIDDEN, 1, 0.3)
            vector(p + "time_mix_r_k.weight", HIDDEN, 0, 0.3)
    norm("output_norm")
    matrix("output", len(tokens), HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer_norm(x, weight, bias, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight + bias


def before(x):
    """Each row's predecessor; zeros before the first."""
    return np.concatenate([np.zeros((1, x.shape[1])), x[:-1]])


class Layer:
    """The tensors of one layer, by the ends of their names."""

    def __init__(self, model, i):
        self.model, self.prefix = model, f"blk.{i}."

    def __getitem__(self, name):
        return self.model.tensors[self.prefix + name + ".weight"]

    def get(self, name):
        return self.model.tensors.get(self.prefix + name + ".weight")

    def norm(self, name, x, epsilon):
        return layer_norm(x, self[name], self.model.tensors[self.prefix + name + ".bias"], epsilon)


def norm_heads(layer, y, head):
    weight, bias = layer["time_mix_ln"].reshape(-1, head), layer.model.tensors[layer.prefix + "time_mix_ln.bias"].reshape(-1, head)
    return layer_norm(y, weight, bias, 64e-5).reshape(len(y), -1)


def time_mix_six(layer, x, head):
    """x [tokens, hidden] -> the same shape. Finch, equations 11 to 17."""
    past = before(x) - x
    low = np.tanh((x + past * layer["time_mix_lerp_x"].ravel()) @ layer["time_mix_w1"].T).reshape(len(x), 5, -1)
    by = np.einsum("tpr,pcr->ptc", low, layer["time_mix_w2"])
    fused = layer.get("time_mix_lerp_fused")
    mixes = [layer[f"time_mix_lerp_{c}"].ravel() for c in "wkvrg"] if fused is None else fused.reshape(5, -1)
    xw, xk, xv, xr, xg = (x + past * (mix + more) for mix, more in zip(mixes, by))
    heads = lambda v: v.reshape(len(x), -1, head)
    r, k, v = (heads(at @ layer["time_mix_" + name].T) for at, name in ((xr, "receptance"), (xk, "key"), (xv, "value")))
    gate = xg @ layer["time_mix_gate"].T
    decay = layer["time_mix_decay"].ravel() + np.tanh(xw @ layer["time_mix_decay_w1"].T) @ layer["time_mix_decay_w2"].T
    decay, first = heads(np.exp(-np.exp(decay))), layer["time_mix_first"].reshape(-1, head)
    state = np.zeros((r.shape[1], head, head))  # [heads, keys, values]
    y = np.empty_like(v)
    for t in range(len(x)):
        pair = k[t][:, :, None] * v[t][:, None, :]
        y[t] = np.einsum("hk,hkv->hv", r[t], first[:, :, None] * pair + state)
        state = decay[t][:, :, None] * state + pair
    return (norm_heads(layer, y, head) * gate * sigmoid(gate)) @ layer["time_mix_output"].T


def channel_mix_six(layer, x):
    past = before(x) - x
    k = np.maximum((x + past * layer["channel_mix_lerp_k"].ravel()) @ layer["channel_mix_key"].T, 0) ** 2
    r = sigmoid((x + past * layer["channel_mix_lerp_r"].ravel()) @ layer["channel_mix_receptance"].T)
    return r * (k @ layer["channel_mix_value"].T)


def time_mix_seven(layer, x, head, first_values):
    """(what is added, the values). RWKV-7, equations 2 to 18."""
    past = before(x) - x
    xr, xw, xk, xv, xa, xg = (x + past * mix for mix in layer["time_mix_lerp_fused"].reshape(6, -1))
    low = lambda at, letter, f=lambda v: v: f(at @ layer[f"time_mix_{letter}1"].T) @ layer[f"time_mix_{letter}2"].T
    r, k, v = (at @ layer["time_mix_" + name].T for at, name in ((xr, "receptance"), (xk, "key"), (xv, "value")))
    if first_values is not None:
        v = v + (first_values - v) * sigmoid(layer["time_mix_v0"] + low(xv, "v"))
    decay = np.exp(-np.exp(-0.5) * sigmoid(layer["time_mix_w0"] + low(xw, "w", np.tanh)))
    rate = sigmoid(layer["time_mix_a0"] + low(xa, "a"))
    gate = low(xg, "g", sigmoid)
    heads = lambda m: m.reshape(len(x), -1, head)
    removal = heads(k * layer["time_mix_k_k"])
    removal = removal / np.linalg.norm(removal, axis=-1, keepdims=True)
    k = k * (1 + (rate - 1) * layer["time_mix_k_a"])
    hr, hk, hv, hd, ha = heads(r), heads(k), heads(v), heads(decay), heads(rate)
    bonus = (hr * hk * layer["time_mix_r_k"].reshape(-1, head)).sum(-1, keepdims=True) * hv
    state = np.zeros((hr.shape[1], head, head))  # [heads, values, keys]
    y = np.empty_like(hv)
    for t in range(len(x)):
        change = np.eye(head) * hd[t][:, None, :] - removal[t][:, :, None] * (ha[t] * removal[t])[:, None, :]
        state = state @ change + hv[t][:, :, None] * hk[t][:, None, :]
        y[t] = np.einsum("hvk,hk->hv", state, hr[t])
    y = norm_heads(layer, y, head) + bonus.reshape(len(x), -1)
    return (y * gate) @ layer["time_mix_output"].T, v if first_values is None else first_values


def channel_mix_seven(layer, x):
    mixed = x + (before(x) - x) * layer["channel_mix_lerp_k"].ravel()
    return np.maximum(mixed @ layer["channel_mix_key"].T, 0) ** 2 @ layer["channel_mix_value"].T


def forward(model, tokens):
    epsilon, head = model.key("attention.layer_norm_epsilon"), model.key("wkv.head_size")
    halved = model.key("rescale_every_n_layers", 0)
    whole = lambda name, x: layer_norm(x, model.tensors[name + ".weight"], model.tensors[name + ".bias"], epsilon)
    x, values = whole("token_embd_norm", model.tensors["token_embd.weight"][tokens]), None
    for i in range(model.key("block_count")):
        layer = Layer(model, i)
        h = layer.norm("attn_norm", x, epsilon)
        if model.arch == "rwkv6":
            x = x + time_mix_six(layer, h, head)
            x = x + channel_mix_six(layer, layer.norm("attn_norm_2", x, epsilon))
        else:
            mixed, values = time_mix_seven(layer, h, head, values)
            x = x + mixed
            x = x + channel_mix_seven(layer, layer.norm("attn_norm_2", x, epsilon))
        if halved and (i + 1) % halved == 0:
            x = x / 2
    return whole("output_norm", x) @ model.tensors["output.weight"].T
