#!/usr/bin/env bash
# llama.cpp with CUDA and Puna side by side on one GPU, random weights of the same shapes.
# usage: llamacpp_cuda.sh LLAMACPP_SOURCE_ARCHIVE PUNA[,PUNA...] OUT_DIR [SHAPE:TYPE ...]      (SHAPE: llama3.2-1b, llama3.1-8b)
# Several Punas (built on wgpu-native and on Dawn, say) run one after the other beside the same llama.cpp.
# Needs nvcc, cmake, ninja, Python with numpy.
set -eu
archive=$1; puna=$2; out=$3; shift 3
[ $# -gt 0 ] || set -- llama3.2-1b:q4_0 llama3.1-8b:q4_0
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/puna-peers}; mkdir -p "$work" "$out"
if [ ! -x "$work/build/bin/llama-bench" ]; then
  mkdir -p "$work/llama.cpp" && tar xJf "$archive" -C "$work/llama.cpp"
  cmake -S "$work/llama.cpp" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF > "$out/llamacpp_cmake.log" 2>&1
  ninja -C "$work/build" llama-bench llama-quantize > "$out/llamacpp_build.log" 2>&1
fi
bin=$work/build/bin
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
  [ "$type" = f16 ] || [ -e "$file" ] || "$bin/llama-quantize" "$f16" "$file" "$type" > /dev/null 2>&1
  [ "$type" = f16 ] && file=$f16
  "$bin/llama-bench" -m "$file" -ngl 99 -fa 1 -p 512 -n 128 -d 0,2048 -r 5 -o json > "$out/llamacpp-$shape-$type.json" 2> /dev/null
  for engine in ${puna//,/ }; do
    name=$(basename "$engine")
    ours=$out/$name-$shape-$type
    "$engine" bench --synthetic "$pair" --device gpu -p 512 -n 128 -d 0,2048 -r 5 --json > "$ours.json" 2> "$ours.err" || cat "$ours.err"
    python3 - "$out/llamacpp-$shape-$type.json" "$ours.json" "$pair" "$name" <<'PY'
import json, sys
peer = json.load(open(sys.argv[1])); ours = json.load(open(sys.argv[2]))
theirs = {("prefill" if r["n_prompt"] else "decode", r["n_depth"]): r["avg_ts"] for r in peer}
for r in ours["results"]:
    m, t = r["tokens_per_s"]["median"], theirs[r["phase"], r["depth"]]
    print(f"{sys.argv[3]} {r['phase']} depth {r['depth']}: {sys.argv[4]} {m:.1f} tok/s, llama.cpp CUDA {t:.1f}, ratio {m / t:.2f}", flush=True)
PY
  done
done
