# Sourced by llamacpp_cuda.sh and llamacpp_batched_cuda.sh, which set work, out and here.

# build_llamacpp ARCHIVE TARGET: llama.cpp with CUDA in $work/build, once.
build_llamacpp() {
  [ ! -x "$work/build/bin/$2" ] || return 0
  mkdir -p "$work/llama.cpp" && tar xJf "$1" -C "$work/llama.cpp"
  cmake -S "$work/llama.cpp" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF > "$out/llamacpp_cmake.log" 2>&1
  ninja -C "$work/build" "$2" llama-quantize > "$out/llamacpp_build.log" 2>&1
}

# make_model SHAPE TYPE: a file of random weights, whose name goes to `file`.
make_model() {
  local dims f16=$work/$1-f16.gguf
  case $1 in
    llama3.2-1b) dims="16 2048 8192 32 8 64 128256 1" ;;
    llama3.1-8b) dims="32 4096 14336 32 8 128 128256 0" ;;
    *) echo "error: unknown shape $1" >&2; exit 2 ;;
  esac
  file=$work/$1-$2.gguf
  # shellcheck disable=SC2086
  [ -e "$f16" ] || python3 "$here/synth_gguf.py" "$work/llama.cpp/gguf-py" "$f16" $dims
  [ -e "$file" ] || "$work/build/bin/llama-quantize" "$f16" "$file" "$2" > /dev/null 2>&1
}
