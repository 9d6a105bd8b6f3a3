#!/usr/bin/env bash
# Many texts at once on one GPU: llama.cpp's llama-batched-bench with CUDA and Puna by turns, random weights of the same shapes.
# usage: llamacpp_batched_cuda.sh LLAMACPP_SOURCE_ARCHIVE PUNA[,PUNA...] OUT_DIR [SHAPE:TYPE ...]      (SHAPE: llama3.2-1b, llama3.1-8b)
# TEXTS (1,2,4,8,16,32,64,128) are how many, ROUNDS (2) how often. Prints a line an engine and round: tokens/s of all answers.
# Needs nvcc, cmake, ninja, Python with numpy; 5 minutes to build on 16 cores, then 2 minutes a shape.
set -eu
archive=$1; puna=$2; out=$3; shift 3
[ $# -gt 0 ] || set -- llama3.1-8b:q4_0 llama3.1-8b:q4_k_m llama3.2-1b:q4_0
texts=${TEXTS:-1,2,4,8,16,32,64,128}
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/puna-peers}; mkdir -p "$work" "$out"
bin=$work/batched/bin
if [ ! -x "$bin/llama-batched-bench" ]; then
  mkdir -p "$work/llama.cpp" && tar xJf "$archive" -C "$work/llama.cpp"
  cmake -S "$work/llama.cpp" -B "$work/batched" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF > "$out/llamacpp_cmake.log" 2>&1
  ninja -C "$work/batched" llama-batched-bench llama-quantize > "$out/llamacpp_build.log" 2>&1
fi
for pair in "$@"; do
  shape=${pair%%:*}; type=${pair#*:}
  case $shape in
    llama3.2-1b) dims="16 2048 8192 32 8 64 128256 1" ;;
    llama3.1-8b) dims="32 4096 14336 32 8 128 128256 0" ;;
    *) echo "error: unknown shape $shape" >&2; exit 2 ;;
  esac
  f16=$work/$shape-f16.gguf; file=$work/$shape-$type.gguf
  # shellcheck disable=SC2086
  [ -e "$f16" ] || python3 "$here/synth_gguf.py" "$work/llama.cpp/gguf-py" "$f16" $dims
  [ -e "$file" ] || "$bin/llama-quantize" "$f16" "$file" "$type" > /dev/null 2>&1
  for round in $(seq "${ROUNDS:-2}"); do
    theirs=$out/llamacpp-$shape-$type-$round.txt
    "$bin/llama-batched-bench" -m "$file" -c 32768 -b 2048 -ub 512 -ngl 99 -fa on -npp 128 -ntg 64 -npl "$texts" > "$theirs" 2>&1
    echo "$pair llama.cpp CUDA $(grep '^|' "$theirs" | awk -F'|' 'NR > 2 { printf "%d:%.0f ", $4, $9 }')"
    for engine in ${puna//,/ }; do
      ours=$out/$(basename "$engine")-$shape-$type-$round.json
      "$engine" bench --synthetic "$pair" --device gpu --parallel "$texts" -p 128 -n 64 -r 1 --json > "$ours"
      python3 - "$ours" "$pair $(basename "$engine")" <<'PY'
import json, sys
rows = next(v for v in json.load(open(sys.argv[1])).values() if isinstance(v, list) and v and "texts" in v[0])
print(sys.argv[2], " ".join(f"{row['texts']}:{row['answer_tokens_per_s']:.0f}" for row in rows), flush=True)
PY
    done
  done
done
