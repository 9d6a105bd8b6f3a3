#!/usr/bin/env bash
# A mixture that a GPU has no room for: llama.cpp with CUDA beside Puna (../experts_beside_llamacpp), random weights of Qwen3-30B-A3B in q4_k_m.
# usage: llamacpp_experts_cuda.sh LLAMACPP_SOURCE_ARCHIVE PUNA OUT_DIR [MIB [ARGUMENTS OF ../experts_beside_llamacpp ...]]      (MIB: 8192)
# Needs nvcc, cmake, ninja, Python with numpy, and in WORK (/tmp/puna-peers) 19 GB for the file.
set -eu
archive=$1; puna=$2; out=$3; memory=${4:-8192}; shift $(($# < 4 ? $# : 4))
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/puna-peers}; mkdir -p "$work" "$out"
source "$here/llamacpp_cuda_common.sh"
build_llamacpp "$archive" llama-bench
shape=qwen3-30b-a3b file=$work/qwen3-30b-a3b-q4_k_m.gguf
[ -e "$file" ] || python3 "$here/synth_gguf.py" "$work/llama.cpp/gguf-py" "$file" 48 2048 768 32 4 128 151936 0 qwen3moe --experts 128 --used 8 --type q4_k_m
"$here/../experts_beside_llamacpp" --puna "$puna" --peer "$work/build/bin/llama-bench" --memory "$memory" --threads "$(nproc)" \
  --output "$out/experts-$shape.json" "$@" "$file=$shape:q4_k_m" | tee "$out/experts-$shape.txt"
