#!/usr/bin/env bash
# Many texts at once on one GPU: llama.cpp's llama-batched-bench with CUDA and Puna by turns, random weights of the same shapes.
# usage: llamacpp_batched_cuda.sh LLAMACPP_SOURCE_ARCHIVE PUNA OUT_DIR [SHAPE:TYPE ...]      (SHAPE: llama3.2-1b, llama3.1-8b)
# WEBGPU ("wgpu dawn") is what PUNA_WEBGPU is, one after the other; TEXTS (1,2,4,8,16,32,64,128) are how many, ROUNDS (2)
# how often. Prints a line an engine and round: tokens/s of all answers.
# Needs nvcc, cmake, ninja, Python with numpy; 5 minutes to build on 16 cores, then 2 minutes a shape.
set -eu
archive=$1; puna=$2; out=$3; shift 3
[ $# -gt 0 ] || set -- llama3.1-8b:q4_0 llama3.1-8b:q4_k_m llama3.2-1b:q4_0
texts=${TEXTS:-1,2,4,8,16,32,64,128}
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/puna-peers}; mkdir -p "$work" "$out"
source "$here/llamacpp_cuda_common.sh"
build_llamacpp "$archive" llama-batched-bench
bin=$work/build/bin
for pair in "$@"; do
  shape=${pair%%:*}; type=${pair#*:}
  make_model "$shape" "$type"
  for round in $(seq "${ROUNDS:-2}"); do
    theirs=$out/llamacpp-$shape-$type-$round.txt
    "$bin/llama-batched-bench" -m "$file" -c 32768 -b 2048 -ub 512 -ngl 99 -fa on -npp 128 -ntg 64 -npl "$texts" > "$theirs" 2>&1
    echo "$pair llama.cpp CUDA $(grep '^|' "$theirs" | awk -F'|' 'NR > 2 { printf "%d:%.0f ", $4, $9 }')"
    for name in ${WEBGPU:-wgpu dawn}; do
      ours=$out/$name-$shape-$type-$round.json
      PUNA_WEBGPU=$name "$puna" bench --synthetic "$pair" --device gpu --parallel "$texts" -p 128 -n 64 -r 1 --json > "$ours"
      python3 - "$ours" "$pair $name" <<'PY'
import json, sys
rows = next(v for v in json.load(open(sys.argv[1])).values() if isinstance(v, list) and v and "texts" in v[0])
print(sys.argv[2], " ".join(f"{row['texts']}:{row['answer_tokens_per_s']['median']:.0f}" for row in rows), flush=True)
PY
    done
  done
done
