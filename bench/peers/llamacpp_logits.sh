#!/usr/bin/env bash
# Builds llama.cpp for this machine's CPU, only what the reference needs, and llamacpp_logits beside it.
# usage: llamacpp_logits.sh LLAMA_CPP_SOURCE     makes SOURCE/build/bin/llamacpp_logits
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
cmake -B build -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF \
  -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF > build.log
cmake --build build -j "$(nproc)" --target llama >> build.log
# shellcheck disable=SC2046
c++ -std=c++17 -O2 -Iinclude -Iggml/include "$here/llamacpp_logits.cpp" -o build/bin/llamacpp_logits \
  -Wl,--start-group $(find build/src build/ggml -name '*.a') -Wl,--end-group -fopenmp -lpthread -ldl
echo "$PWD/build/bin/llamacpp_logits"
