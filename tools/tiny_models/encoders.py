"""Encoders of pictures and sounds in float64: what the rows of an mmproj file are, read through the gguf package, by the descriptions of the
families and without any code of Puna's. rows(model, tile) is the whole of it."""
import gguf
import numpy as np


class Encoder:
    def __init__(self, path, sound=None):
        reader = gguf.GGUFReader(path)
        self.keys = {name: field.contents() for name, field in reader.fields.items()}
        self.tensors = {t.name: np.asarray(t.data).reshape([int(n) for n in reversed(t.shape)]).astype(np.float64) for t in reader.tensors}
        self.sound = bool(self.keys.get("clip.has_audio_encoder")) if sound is None else sound
        self.prefix = "a" if self.sound else "v"
        sense = "audio" if self.sound else "vision"
        self.kind = self.keys.get(f"clip.{sense}.projector_type") or self.keys["clip.projector_type"]
        key = lambda name: self.keys[f"clip.{sense}.{name}"]
        self.layers, self.hidden, self.heads = key("block_count"), key("embedding_length"), key("attention.head_count")
        self.eps = key("attention.layer_norm_epsilon")

    def get(self, name, otherwise):
        return self.keys.get("clip.vision." + name, otherwise)

    def __getitem__(self, name):
        return self.tensors[name]

    def linear(self, name, x):
        bias = self.tensors.get(name + ".bias")
        y = self.clipped(name, "input", x) @ self[name + ".weight"].T
        return self.clipped(name, "output", y if bias is None else y + bias)

    def clipped(self, name, side, x):
        """Within the bounds that the file has for what goes into a product or comes out of it."""
        low = self.tensors.get(f"{name}.{side}_min")
        return x if low is None else np.clip(x, low, self[f"{name}.{side}_max"])

    def norm(self, name, x, eps=None):
        eps = self.eps if eps is None else eps
        if name + ".bias" in self.tensors:
            return layer_norm(x, self[name + ".weight"], self[name + ".bias"], eps)
        return rms_norm(x, eps) * self[name + ".weight"]


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + eps) * weight + bias


def rms_norm(x, eps):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps)


def gelu(x):
    from math import erf
    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def gelu_quick(x):
    return x / (1 + np.exp(-1.702 * x))


def silu(x):
    return x / (1 + np.exp(-x))


def turn(x, angle, adjacent):
    """x [rows, heads, n], angle [rows, n / 2]: pairs (2i, 2i + 1) or (i, i + n / 2)."""
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    out = np.empty_like(x)
    half = x.shape[-1] // 2
    a, b = (np.s_[..., 0::2], np.s_[..., 1::2]) if adjacent else (np.s_[..., :half], np.s_[..., half:])
    out[a] = x[a] * cos - x[b] * sin
    out[b] = x[b] * cos + x[a] * sin
    return out


def attention(e, layer, x, rope=None, scale=None, windows=None, v_norm=False):
    name = f"{e.prefix}.blk.{layer}.attn_"
    if name + "qkv.weight" in e.tensors:
        q, k, v = np.split(e.linear(name + "qkv", x), 3, axis=-1)
    else:
        q, k, v = (e.linear(name + part, x) for part in "qkv")
    n, d = len(x), e.hidden // e.heads
    q, k, v = (m.reshape(n, e.heads, d) for m in (q, k, v))
    if name + "q_norm.weight" in e.tensors:
        q = rms_norm(q, e.eps) * e[name + "q_norm.weight"]
        k = rms_norm(k, e.eps) * e[name + "k_norm.weight"]
    if v_norm:
        v = rms_norm(v, e.eps)
    if rope is not None:
        q, k = rope(q), rope(k)
    scores = np.einsum("qhd,khd->hqk", q, k) * (d ** -0.5 if scale is None else scale)
    if windows is not None:
        scores[:, windows[:, None] != windows[None, :]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return e.linear(name + "out", np.einsum("hqk,khd->qhd", weights, v).reshape(n, e.hidden))


def block(e, layer, x, activation, **attention_options):
    name = f"{e.prefix}.blk.{layer}."

    def after(y, norm, scale):
        if name + norm + ".weight" in e.tensors:
            y = rms_norm(y, e.eps) * e[name + norm + ".weight"]
        return y * e[name + scale + ".weight"] if name + scale + ".weight" in e.tensors else y

    x = x + after(attention(e, layer, e.norm(name + "ln1", x), **attention_options), "attn_post_norm", "ls1")
    h = e.norm(name + "ln2", x)
    up = e.linear(name + "ffn_up", h)
    hidden = activation(e.linear(name + "ffn_gate", h)) * up if name + "ffn_gate.weight" in e.tensors else activation(up)
    return x + after(e.linear(name + "ffn_down", hidden), "ffn_post_norm", "ls2")


def patches(e, tile):
    """Products of the patches in raster order, with their rows and columns."""
    p = e.get("patch_size", 0)
    rows, columns = tile.shape[0] // p, tile.shape[1] // p
    x = tile.reshape(rows, p, columns, p, 3).transpose(0, 2, 4, 1, 3).reshape(rows * columns, -1)
    y = x @ e["v.patch_embd.weight"].reshape(e.hidden, -1).T
    if "v.patch_embd.weight.1" in e.tensors:
        y = y + x @ e["v.patch_embd.weight.1"].reshape(e.hidden, -1).T
    if "v.patch_embd.bias" in e.tensors:
        y = y + e["v.patch_embd.bias"]
    row, column = np.divmod(np.arange(rows * columns), columns)
    return y, row, column, rows, columns


def cells(x, rows, columns, n):
    """[rows * columns, c] in raster order -> [cells, n * n, c], patches of a cell row by row."""
    return x.reshape(rows // n, n, columns // n, n, -1).transpose(0, 2, 1, 3, 4).reshape(rows * columns // (n * n), n * n, -1)


def joined(x):
    return x.reshape(len(x), -1)


def with_class(e, x):
    """The class token first, at position 0."""
    table = e["v.position_embd.weight"].reshape(-1, e.hidden)
    return np.concatenate([e["v.class_embd"].reshape(1, -1), x]) + table


def mlp(e, first, second, x):
    return e.linear(second, gelu(e.linear(first, x)))


def gemma3(e, tile):
    x, _, _, rows, columns = patches(e, tile)
    x = x + e["v.position_embd.weight"]
    for l in range(e.layers):
        x = block(e, l, x, gelu_tanh)
    x = cells(e.norm("v.post_ln", x), rows, columns, e.get("projector.scale_factor", 4)).mean(1)
    return rms_norm(x, e.eps) * e["mm.soft_emb_norm.weight"] @ e["mm.input_projection.weight"]


def gemma4(e, tile):
    x, row, column, rows, columns = patches(e, 2 * tile - 1)
    x_table, y_table = e["v.position_embd.weight"]
    x = x + x_table[column] + y_table[row]
    d = e.hidden // e.heads
    frequency = 100.0 ** (-4 * np.arange(d // 4) / d)

    def rope(v):
        halves = [turn(part, np.outer(at, frequency), adjacent=False) for part, at in zip(np.split(v, 2, axis=-1), (column, row))]
        return np.concatenate(halves, axis=-1)

    for l in range(e.layers):
        x = block(e, l, x, gelu_tanh, rope=rope, scale=1.0, v_norm=True)
    x = cells(x, rows, columns, e.get("projector.scale_factor", 3)).mean(1) * np.sqrt(e.hidden)
    if "v.std_bias" in e.tensors:
        x = (x - e["v.std_bias"]) * e["v.std_scale"]
    return e.linear("mm.input_projection", rms_norm(x, e.eps))


def idefics3(e, tile):
    x, _, _, rows, columns = patches(e, tile)
    x = x + e["v.position_embd.weight"]
    for l in range(e.layers):
        x = block(e, l, x, gelu_tanh)
    return e.linear("mm.model.fc", joined(cells(e.norm("v.post_ln", x), rows, columns, e.get("projector.scale_factor", 0))))


def internvl(e, tile):
    x, _, _, rows, columns = patches(e, tile)
    x = with_class(e, x)
    for l in range(e.layers):
        x = block(e, l, x, gelu)
    x = joined(cells(x[1:], rows, columns, e.get("projector.scale_factor", 0)))
    return mlp(e, "mm.model.mlp.1", "mm.model.mlp.3", e.norm("mm.model.mlp.0", x, 1e-5))


def llava(e, tile):
    x = e.norm("v.pre_ln", with_class(e, patches(e, tile)[0]))
    for l in range(e.get("feature_layer", [e.layers])[0]):
        x = block(e, l, x, gelu_quick)
    return mlp(e, "mm.0", "mm.2", x[1:])


def grid_rope(e, row, column, frequencies, adjacent):
    angle = np.concatenate([np.outer(row, frequencies[0]), np.outer(column, frequencies[1])], axis=-1)
    return lambda v: turn(v, angle, adjacent)


def pixtral(e, tile):
    x, row, column, rows, columns = patches(e, tile)
    x = e.norm("v.pre_ln", x)
    d = e.hidden // e.heads
    i = np.arange(d // 4)
    rope = grid_rope(e, row, column, (10000.0 ** (-4 * i / d), 10000.0 ** (-(4 * i + 2) / d)), adjacent=True)
    for l in range(e.layers):
        x = block(e, l, x, silu if e.keys.get("clip.use_silu") else gelu, rope=rope)
    n = e.get("spatial_merge_size", 1)
    if "mm.patch_merger.weight" in e.tensors:
        x = cells(e.norm("mm.input_norm", x), rows, columns, n).transpose(0, 2, 1)
        x = e.linear("mm.patch_merger", joined(x))
    x = mlp(e, "mm.1", "mm.2", x).reshape(rows // n, columns // n, -1)
    lines = []
    for line in x:
        lines += [*line, e["v.token_embd.img_break"]]
    return np.stack(lines[:-1])


def qwen_rope(e, row, column):
    d = e.hidden // e.heads
    frequency = 10000.0 ** (-4 * np.arange(d // 4) / d)
    return grid_rope(e, row, column, (frequency, frequency), adjacent=False)


def qwen2_5_vl(e, tile):
    x, row, column, rows, columns = patches(e, tile)
    side = 112 // e.get("patch_size", 0) // 2 * 2  # patches of a window
    windows = row // side * columns + column // side
    rope = qwen_rope(e, row, column)
    for l in range(e.layers):
        full = (l + 1) % e.get("n_wa_pattern", 0) == 0
        x = block(e, l, x, silu, rope=rope, windows=None if full else windows)
    return mlp(e, "mm.0", "mm.2", joined(cells(e.norm("v.post_ln", x), rows, columns, 2)))


def qwen2_vl(e, tile):
    x, row, column, rows, columns = patches(e, tile)
    rope = qwen_rope(e, row, column)
    for l in range(e.layers):
        x = block(e, l, x, gelu_quick, rope=rope)
    return mlp(e, "mm.0", "mm.2", joined(cells(e.norm("v.post_ln", x), rows, columns, 2)))


def interpolated(table, rows, columns):
    """A square table at rows x columns places, the corners at its corners."""
    side = int(len(table) ** 0.5)
    table = table.reshape(side, side, -1)

    def weights(n):
        at = np.linspace(0, side - 1, n)
        low = at.astype(int)
        out = np.zeros((n, side))
        out[np.arange(n), low] += 1 - (at - low)
        out[np.arange(n), np.minimum(low + 1, side - 1)] += at - low
        return out

    return np.einsum("ya,xb,abc->yxc", weights(rows), weights(columns), table).reshape(rows * columns, -1)


def qwen3_vl(e, tile):
    x, row, column, rows, columns = patches(e, tile)
    x = x + interpolated(e["v.position_embd.weight"], rows, columns)
    rope = qwen_rope(e, row, column)
    deep = []
    for l in range(e.layers):
        x = block(e, l, x, gelu_tanh, rope=rope)
        if e.get("is_deepstack_layers", [])[l]:
            name = f"v.deepstack.{l}."
            deep.append(mlp(e, name + "fc1", name + "fc2", e.norm(name + "norm", joined(cells(x, rows, columns, 2)))))
    main = mlp(e, "mm.0", "mm.2", joined(cells(e.norm("v.post_ln", x), rows, columns, 2)))
    return np.concatenate([main, *deep], axis=-1)


def whisper(e, frames, seen=None):
    """[bins, frames] -> rows of two frames behind the last block; rows from `seen` on are seen by none."""
    def conv(name, x, stride):
        weight, padded = e[name + ".weight"], np.pad(x, ((0, 0), (1, 1)))
        columns = [padded[:, i:i + 3].reshape(-1) for i in range(0, x.shape[1], stride)]
        return gelu(np.stack(columns) @ weight.reshape(len(weight), -1).T + e[name + ".bias"].reshape(-1))

    x = conv("a.conv1d.2", conv("a.conv1d.1", frames, 1).T, 2)
    x = x + e["a.position_embd.weight"][:len(x)]
    x = x[:seen]
    for l in range(e.layers):
        x = block(e, l, x, gelu)
    return x


def rows_of(frames):
    return (frames - 1) // 2 + 1


def pairs(x):
    n = len(x) // 2
    return x[:2 * n].reshape(n, 2, -1).mean(1)


def voxtral(e, tile, sounding):
    x = e.norm("a.post_ln", whisper(e, tile))
    return mlp(e, "mm.a.mlp.1", "mm.a.mlp.2", x.reshape(len(x) // e.keys["clip.audio.projector.stack_factor"], -1))


def qwen2_audio(e, tile, sounding):
    return e.linear("mm.a.fc", e.norm("a.post_ln", pairs(whisper(e, tile, rows_of(sounding)))))


def qwen2_omni(e, tile, sounding, chunk=200):
    chunks = [whisper(e, tile[:, at:min(at + chunk, sounding)]) for at in range(0, sounding, chunk)]
    return e.linear("mm.a.fc", e.norm("a.post_ln", pairs(np.concatenate(chunks))))


def ultravox(e, tile, sounding):
    n = e.keys["clip.audio.projector.stack_factor"]
    x = e.norm("a.post_ln", whisper(e, tile, rows_of(sounding)))
    x = np.pad(x, ((0, -len(x) % n), (0, 0))).reshape(-1, n * e.hidden)
    value, gate = np.split(e.linear("mm.a.mlp.1", rms_norm(x, 1e-6) * e["mm.a.norm_pre.weight"]), 2, axis=-1)
    return e.linear("mm.a.mlp.2", rms_norm(silu(gate) * value, 1e-6) * e["mm.a.norm_mid.weight"])


def gemma4_audio(e, tile, sounding):
    def convolved(x, name):
        """[channels, frames, bins] -> halved, each place normed over its channels."""
        weight, padded = e[name + ".weight"], np.pad(x, ((0, 0), (1, 1), (1, 1)))
        frames, bins = ((n + 1) // 2 for n in x.shape[1:])
        places = np.stack([[padded[:, 2 * t:2 * t + 3, 2 * f:2 * f + 3].reshape(-1) for f in range(bins)] for t in range(frames)])
        y = places @ weight.reshape(len(weight), -1).T
        return np.maximum(layer_norm(y, e[name + ".norm.weight"], 0, 1e-6), 0).transpose(2, 0, 1)

    def norm(name, x):
        return rms_norm(x, 1e-6) * e[name + ".weight"]

    def half_ffn(b, which, x):
        y = e.linear(f"{b}ffn_down{which}", silu(e.linear(f"{b}ffn_up{which}", norm(f"{b}ffn_norm{which}", x))))
        return x + 0.5 * norm(f"{b}ffn_post_norm{which}", y)

    def attention(b, x):
        n, d, window = len(x), e.hidden // e.heads, 12
        q, k, v = (e.linear(f"{b}attn_{part}", x).reshape(n, e.heads, d) for part in "qkv")
        q = q * e[b + "per_dim_scale.weight"] * d ** -0.5 / np.log(2)
        k = k * np.log(1 + np.e) / np.log(2)
        turns = np.outer(np.arange(window), 10000.0 ** (-np.arange(e.hidden // 2) / (e.hidden // 2 - 1)))
        far = (np.concatenate([np.sin(turns), np.cos(turns)], axis=-1) @ e[b + "attn_k_rel.weight"].T).reshape(window, e.heads, d)
        y = np.zeros_like(v)
        for t in range(n):
            earlier = np.arange(t, max(t - window, -1), -1)
            scores = 50 * np.tanh(np.einsum("hd,khd->hk", q[t], k[earlier] + far[:len(earlier)]) / 50)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            y[t] = np.einsum("hk,khd->hd", weights / weights.sum(-1, keepdims=True), v[earlier])
        return e.linear(b + "attn_out", y.reshape(n, -1))

    def convolution(b, x):
        value, gate = np.split(e.linear(b + "conv_pw1", x), 2, axis=-1)
        taps = e[b + "conv_dw.weight"]
        padded = np.pad(value / (1 + np.exp(-gate)), ((taps.shape[1] - 1, 0), (0, 0)))
        y = sum(padded[k:k + len(x)] * taps[:, k] for k in range(taps.shape[1]))
        return e.linear(b + "conv_pw2", silu(norm(b + "norm_conv", y)))

    x = convolved(convolved(tile[:, :sounding].T[None], "a.conv1d.0"), "a.conv1d.1")
    x = x.transpose(1, 2, 0).reshape(x.shape[1], -1) @ e["a.input_projection.weight"].T
    for l in range(e.layers):
        b = f"a.blk.{l}."
        x = half_ffn(b, "", x)
        x = x + norm(b + "attn_post_norm", attention(b, norm(b + "attn_pre_norm", x)))
        x = x + convolution(b, norm(b + "conv_norm", x))
        x = norm(b + "ln2", half_ffn(b, "_1", x))
    return rms_norm(e.linear("a.pre_encode.out", x), 1e-6) @ e["mm.a.input_projection.weight"].T


KINDS = {"gemma3": gemma3, "gemma4v": gemma4, "idefics3": idefics3, "internvl": internvl, "mlp": llava, "pixtral": pixtral,
         "qwen2.5o": qwen2_5_vl, "qwen2.5vl_merger": qwen2_5_vl, "qwen2vl_merger": qwen2_vl, "qwen3vl_merger": qwen3_vl}
SOUND_KINDS = {"gemma4a": gemma4_audio, "qwen2.5o": qwen2_omni, "qwen2a": qwen2_audio, "ultravox": ultravox, "voxtral": voxtral}


def rows(encoder, tile, sounding=None):
    """tile: [height, width, 3] normalised pixels, or [bins, frames] of a sound that has so many frames (None: all). The rows as they stand in a
    prompt."""
    tile = tile.astype(np.float64)
    if encoder.sound:
        return SOUND_KINDS[encoder.kind](encoder, tile, sounding or tile.shape[1])
    return KINDS[encoder.kind](encoder, tile)
