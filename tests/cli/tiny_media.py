"""A tiny encoder of pictures as an mmproj file, the same as a folder of Hugging Face weights, one of sounds, a small picture and a short sound."""
import json
import math
import random
import struct
import zlib
from pathlib import Path

from tiny_gguf import ARRAY, F32, STRING, U32, Gguf, value, write_gguf

BOOL = 7
HIDDEN, FFN, HEADS, IMAGE, PATCH = 16, 24, 2, 16, 4
MEAN, STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


def tensors(width, seed=1):
    """name in an mmproj file -> (name in a folder, shape, values); LLaVA's kind, which puts no tokens around its rows."""
    draw = random.Random(seed)
    out = {}

    def put(clip, hf, *shape, offset=0.0):
        n = 1
        for size in shape:
            n *= size
        scale = 0.3 if len(shape) == 1 else (n // shape[0]) ** -0.5
        out[clip] = (hf, shape, [offset + scale * draw.gauss(0, 1) for _ in range(n)])

    def linear(clip, hf, rows, columns):
        put(clip + ".weight", hf + ".weight", rows, columns)
        put(clip + ".bias", hf + ".bias", rows)

    def norm(clip, hf):
        put(clip + ".weight", hf + ".weight", HIDDEN, offset=1.0)
        put(clip + ".bias", hf + ".bias", HIDDEN)

    tower = "vision_tower.vision_model."
    put("v.class_embd", tower + "embeddings.class_embedding", HIDDEN)
    put("v.patch_embd.weight", tower + "embeddings.patch_embedding.weight", HIDDEN, 3, PATCH, PATCH)
    put("v.position_embd.weight", tower + "embeddings.position_embedding.weight", (IMAGE // PATCH) ** 2 + 1, HIDDEN)
    norm("v.pre_ln", tower + "pre_layrnorm")
    layer = tower + "encoder.layers.0."
    for clip, hf in (("attn_q", "q_proj"), ("attn_k", "k_proj"), ("attn_v", "v_proj"), ("attn_out", "out_proj")):
        linear("v.blk.0." + clip, layer + "self_attn." + hf, HIDDEN, HIDDEN)
    norm("v.blk.0.ln1", layer + "layer_norm1")
    norm("v.blk.0.ln2", layer + "layer_norm2")
    linear("v.blk.0.ffn_up", layer + "mlp.fc1", FFN, HIDDEN)
    linear("v.blk.0.ffn_down", layer + "mlp.fc2", HIDDEN, FFN)
    linear("mm.0", "multi_modal_projector.linear_1", width, HIDDEN)
    linear("mm.2", "multi_modal_projector.linear_2", width, width)
    return out


def write_mmproj(path, width, seed=1):
    keys = {
        "general.architecture": value(STRING, "clip"),
        "general.type": value(STRING, "mmproj"),
        "clip.has_vision_encoder": value(BOOL, True),
        "clip.projector_type": value(STRING, "mlp"),
        "clip.use_gelu": value(BOOL, False),
        "clip.vision.image_mean": value(ARRAY, MEAN, F32),
        "clip.vision.image_std": value(ARRAY, STD, F32),
        "clip.vision.attention.layer_norm_epsilon": value(F32, 1e-5),
        "clip.vision.feature_layer": value(ARRAY, [1], U32),
    }
    numbers = {"image_size": IMAGE, "patch_size": PATCH, "embedding_length": HIDDEN, "feed_forward_length": FFN, "projection_dim": width,
               "attention.head_count": HEADS, "block_count": 1}
    keys |= {"clip.vision." + key: value(U32, n) for key, n in numbers.items()}
    data = [(name, list(reversed(shape)), 0, struct.pack(f"<{len(values)}f", *values)) for name, (_, shape, values) in tensors(width, seed).items()]
    return write_gguf(path, keys, data)


def write_hearing_mmproj(path, width):
    """Ultravox's encoder of tests/encoders, whose rows get zeros behind them. It hears up to 0.64 seconds and puts no tokens around its rows."""
    file = Gguf(Path(__file__).resolve().parent.parent / "encoders/ultravox.gguf")
    file.set("clip.audio.projection_dim", U32, width)
    tensors = []
    for name, shape, kind, offset in file.tensors:
        n_bytes = {0: 4, 1: 2}[kind] * math.prod(shape)
        data = file.tensor_data[offset : offset + n_bytes]
        if name == "mm.a.mlp.2.weight":
            columns, rows = shape
            shape, data = [columns, width], data + bytes((width - rows) * (n_bytes // rows))
        tensors.append((name, shape, kind, data))
    return write_gguf(path, file.pairs, tensors)


def write_folder(folder, seed=1, without=""):
    """A whole LLaVA: the text model of one layer beside the encoder of write_mmproj(). `without`: tensors whose names have that are left out."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    width, ffn, vocab = 32, 48, 40
    draw = random.Random(seed + 100)
    entries = {hf: (shape, values) for hf, shape, values in tensors(width, seed).values()}

    def put(name, *shape):
        n = shape[0] * (shape[1] if len(shape) > 1 else 1)
        entries["language_model." + name] = (shape, [(1.0 if len(shape) == 1 else 0.0) + 0.2 * draw.gauss(0, 1) for _ in range(n)])

    put("model.embed_tokens.weight", vocab, width)
    put("lm_head.weight", vocab, width)
    put("model.norm.weight", width)
    for name, *shape in (("self_attn.q_proj", width, width), ("self_attn.k_proj", width, width), ("self_attn.v_proj", width, width),
                         ("self_attn.o_proj", width, width), ("mlp.gate_proj", ffn, width), ("mlp.up_proj", ffn, width),
                         ("mlp.down_proj", width, ffn), ("input_layernorm", width), ("post_attention_layernorm", width)):
        put(f"model.layers.0.{name}.weight", *shape)
    header, body = {}, b""
    for name, (shape, values) in entries.items():
        if without and without in name:
            continue
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + body)
    text = {"model_type": "llama", "hidden_size": width, "intermediate_size": ffn, "num_hidden_layers": 1, "num_attention_heads": 2,
            "vocab_size": vocab, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False}
    vision = {"model_type": "clip_vision_model", "hidden_size": HIDDEN, "intermediate_size": FFN, "num_hidden_layers": 1,
              "num_attention_heads": HEADS, "image_size": IMAGE, "patch_size": PATCH, "hidden_act": "quick_gelu"}
    config = {"model_type": "llava", "text_config": text, "vision_config": vision, "vision_feature_layer": -1}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def write_png(path, width=20, height=12, seed=3):
    draw = random.Random(seed)
    rows = b"".join(b"\0" + bytes(draw.randrange(256) for _ in range(3 * width)) for _ in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                           chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return str(path)


def write_wav(path, seconds=0.5, rate=16000):
    """A tone, one channel of 16 bits."""
    samples = struct.pack(f"<{int(seconds * rate)}h", *(int(8000 * math.sin(i / 6)) for i in range(int(seconds * rate))))
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", len(samples))
    Path(path).write_bytes(head + samples)
    return str(path)
