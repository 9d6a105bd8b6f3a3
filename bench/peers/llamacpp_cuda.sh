#!/usr/bin/env bash
# llama.cpp with CUDA and Puna side by side on one GPU, random weights of the same shapes.
# usage: llamacpp_cuda.sh LLAMACPP_SOURCE_ARCHIVE PUNA OUT_DIR [SHAPE:TYPE ...]      (SHAPE: llama3.2-1b, llama3.1-8b)
# Puna runs once with each of WEBGPU (default "wgpu dawn", as PUNA_WEBGPU has it), one after the other beside the same llama.cpp.
# PROMPTS (512), DECODE (128; 0: none), DEPTHS (0,2048) and REPEATS (5): tokens of prompts and of answers, what lies before them, and rounds.
# Needs nvcc, cmake, ninja, Python with numpy.
set -eu
archive=$1; puna=$2; out=$3; shift 3
[ $# -gt 0 ] || set -- llama3.2-1b:q4_0 llama3.1-8b:q4_0
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/puna-peers}; mkdir -p "$work" "$out"
source "$here/llamacpp_cuda_common.sh"
build_llamacpp "$archive" llama-bench
bin=$work/build/bin
prompts=${PROMPTS:-512} decode=${DECODE:-128} depths=${DEPTHS:-0,2048} repeats=${REPEATS:-5}
for pair in "$@"; do
  shape=${pair%%:*}; type=${pair#*:}
  make_model "$shape" "$type"
  peer=$out/llamacpp-$shape-$type.json
  "$bin/llama-bench" -m "$file" -ngl 99 -fa 1 -p "$prompts" -n "$decode" -d "$depths" -r "$repeats" -o json > "$peer" 2> /dev/null
  for name in ${WEBGPU:-wgpu dawn}; do
    ours=$out/$name-$shape-$type
    PUNA_WEBGPU=$name "$puna" bench --synthetic "$pair" --device gpu -p "$prompts" -n "$decode" -d "$depths" -r "$repeats" --json > "$ours.json" 2> "$ours.err" || cat "$ours.err"
    python3 - "$peer" "$ours.json" "$pair" "$name" <<'PY'
import json, sys
peer = json.load(open(sys.argv[1])); ours = json.load(open(sys.argv[2]))
theirs = {("prefill", r["n_prompt"], r["n_depth"]) if r["n_prompt"] else ("decode", r["n_gen"], r["n_depth"]): r["avg_ts"] for r in peer}
for r in ours["results"]:
    m, t = r["tokens_per_s"]["median"], theirs[r["phase"], r["tokens"], r["depth"]]
    print(f"{sys.argv[3]} {r['phase']} {r['tokens']} depth {r['depth']}: {sys.argv[4]} {m:.1f} tok/s, llama.cpp CUDA {t:.1f}, ratio {m / t:.2f}", flush=True)
PY
  done
done
