#!/usr/bin/env python3
"""Writes a Llama-like GGUF file as the folder of ONNX files that Transformers.js loads (bench/browser/compare.mjs --onnx).
    bench/peers/export_onnx.py MODEL.gguf OUT [DTYPE ...]
Needs torch, transformers, accelerate and gguf to read the file, onnxruntime-genai 0.18.0, onnxruntime 1.32.0, onnx and onnx-ir to write it (PyPI).

OUT gets config.json, generation_config.json, tokenizer.json, tokenizer_config.json and a model for each DTYPE (q4, q8, fp32, q4f16, fp16; all five where none
is named), each with inputs for past keys and values, and with what makes them fast: fused attention (GroupQueryAttention), logits of the last row alone.
    onnx/model_q4.onnx     for WebAssembly: matrices of 4 bits with a scale (f32) and a zero point (4 bits) for each 32 weights, the head of 8 bits in
                           blocks of 32, products with activations in int8, all else in f32. That is closest to q4_1 with an embedding in q8_0, whose
                           blocks have minima in f16. The embedding is there a second time, in f32: ONNX Runtime for the web (1.31) cannot look up
                           rows of a quantized matrix on the CPU
    onnx/model_quantized.onnx  (q8) for WebAssembly: matrices of 8 bits, activations rounded to 8 bits as they come, all else in f32. It is made of:
    onnx/model.onnx        (fp32) everything in f32
    onnx/model_q4f16.onnx  for WebGPU: the same with activations and scales in f16, and one matrix of 8 bits for the embedding and the head
    onnx/model_fp16.onnx   everything in f16
Matrices are expanded to f32 first and rounded to these types anew, so that 4 bits lose a little twice."""
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoModelForCausalLM, AutoTokenizer

FOUR_BITS = ("is_symmetric=false", "algo_config=rtn", "matmul_mixed_precision=last_matmul:int8")
# File, precision and provider as the builder has them, by DTYPE.
MODELS = {
    "q4": ("model_q4", "int4", "cpu", (*FOUR_BITS, "shared_embeddings=false")),
    "q4f16": ("model_q4f16", "int4", "webgpu", (*FOUR_BITS, "shared_embeddings=true")),
    "fp16": ("model_fp16", "fp16", "cuda", ("shared_embeddings=true",)),
    "fp32": ("model", "fp32", "cpu", ("shared_embeddings=true",)),
}


def expand(gguf, folder):
    """The weights in f32 with configuration and vocabulary, as a folder of Hugging Face."""
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    del read.config.quantization_config  # else the model counts as quantized, which cannot be saved
    model = AutoModelForCausalLM.from_config(read.config, dtype=torch.float32)
    model.load_state_dict(read.state_dict())
    model.generation_config = read.generation_config
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.save_pretrained(folder)
    return model.config


def build(expanded, folder, precision, provider, options):
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", expanded, "-o", folder, "-p", precision, "-e", provider, "-c", folder / "cache",
               "--extra_options", "prune_lm_head=true", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return onnx.load(folder / "model.onnx")


def main():
    if len(sys.argv) < 3 or set(sys.argv[3:]) - {"q8", *MODELS}:
        sys.exit(__doc__)
    gguf, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    wanted = set(sys.argv[3:]) or {"q8", *MODELS}
    built = wanted - {"q8"} | ({"fp32"} if "q8" in wanted else set())
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        expanded = Path(work, "expanded")
        config = expand(gguf, expanded)
        for name, precision, provider, options in (MODELS[dtype] for dtype in MODELS if dtype in built):
            model = build(expanded, Path(work, name), precision, provider, options)
            # The builder leaves the width of a head open, without which Transformers.js cannot make an empty cache.
            for value in (*model.graph.input, *model.graph.output):
                if value.name.startswith(("past_key_values.", "present.")):
                    value.type.tensor_type.shape.dim[3].dim_value = config.head_dim
            onnx.save(model, out / "onnx" / f"{name}.onnx")
        if "q8" in wanted:
            quantize_dynamic(out / "onnx/model.onnx", out / "onnx/model_quantized.onnx", weight_type=QuantType.QUInt8)
        for file in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"):
            (out / file).write_bytes((expanded / file).read_bytes())


main()
