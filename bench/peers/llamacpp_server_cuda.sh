#!/usr/bin/env bash
# Clients over HTTP on one GPU: Puna, what it does without HTTP (`puna bench --parallel`), and llama-server with CUDA, random weights of one shape.
# usage: llamacpp_server_cuda.sh LLAMACPP_SOURCE_ARCHIVE PUNA OUT_DIR VOCABULARY.gguf [SHAPE:TYPE]     (llama3.1-8b:q4_0)
# VOCABULARY has as many tokens as the shape. Clients ask again as soon as they are answered: 48 words of prompt, 64 tokens of answer. The rate without
# HTTP is of as many texts, whose prompts are read and whose answers are written: tokens of answers over both times. WEBGPU ("wgpu dawn") is what
# PUNA_WEBGPU is, one after the other. Needs nvcc, cmake, ninja, numpy.
set -eu
archive=$1; puna=$2; out=$3; vocabulary=$4; pair=${5:-llama3.1-8b:q4_0}
clients=${CLIENTS:-1,8,32,128}; prompt=${PROMPT_TOKENS:-84}
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/puna-peers}; mkdir -p "$work" "$out"
if [ ! -x "$work/build/bin/llama-server" ]; then
  tar xJf "$archive" -C "$work"
  cmake -S "$work/llama.cpp" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native -DLLAMA_CURL=OFF \
    -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF > "$out/llamacpp_cmake.log" 2>&1
  ninja -C "$work/build" llama-server > "$out/llamacpp_build.log" 2>&1
fi
shape=${pair%%:*}; type=${pair#*:}
case $shape in
  llama3.2-1b) dims="16 2048 8192 32 8 64 128256 1" ;;
  llama3.1-8b) dims="32 4096 14336 32 8 128 128256 0" ;;
  *) echo "error: unknown shape $shape" >&2; exit 2 ;;
esac
file=$work/$shape-$type-text.gguf
# shellcheck disable=SC2086
[ -e "$file" ] || python3 "$here/synth_gguf.py" "$work/llama.cpp/gguf-py" "$file" $dims --type "$type" --vocabulary "$vocabulary"
most=${clients##*,}
for name in ${WEBGPU:-wgpu dawn}; do
  export PUNA_WEBGPU=$name
  "$puna" bench --synthetic "$pair" --device gpu --parallel "$clients" -p "$prompt" -n 64 -r 3 --json > "$out/$name-bench.json"
  python3 "$here/../server/load" --puna "$puna" --clients "$clients" --prefixes distinct --rounds 2 --requests 48 --output "$out/$name-http.json" -- \
    -m "$file" --device gpu --parallel "$most" -c $((most * 256))
  python3 - "$out/$name-bench.json" "$out/$name-http.json" "$name" "$prompt" <<'PY'
import json, sys
alone = {r["texts"]: 64 / (int(sys.argv[4]) / r["prompt_tokens_per_s"]["median"] + 64 / r["answer_tokens_per_s"]["median"])
         for r in json.load(open(sys.argv[1]))["results"]}
for row in json.load(open(sys.argv[2])):
    n = row["clients"]
    print(f"{sys.argv[3]} {n:>3} clients {row['tok_s']:8.1f} tok/s over HTTP, {alone[n]:8.1f} without, x {row['tok_s'] / alone[n]:.3f}", flush=True)
PY
done
python3 "$here/../server/load" --peer "$work/build/bin/llama-server -np $most -kvu -ngl 99" --clients "$clients" --prefixes distinct --rounds 2 --requests 48 \
  --output "$out/llama-server.json" -- -m "$file" -c $((most * 256))
