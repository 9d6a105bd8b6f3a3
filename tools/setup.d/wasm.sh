# tools/setup --wasm: Emscripten, Node, and the headers that WebAssembly builds share with native ones.
# Where PATH has no recent em++, a private Debian trixie root with `emscripten` is made (about a minute, 2.4 GB) and entered by
# tools/wasm/em++. Making and entering it needs root, or sudo and user namespaces.
source tools/setup.d/node.sh

wasm_headers=(fmt nlohmann doctest)

wasm_present() {
  [ -d "$cache/headers/fmt" ] && { emxx_on_path > /dev/null || [ -e "$wasm_root/.complete" ]; } &&
    node_present
}

wasm_install() {
  local name
  mkdir -p "$cache/headers"
  for name in "${wasm_headers[@]}"; do
    [ -d "/usr/include/$name" ] || die "the headers of $name were not found at /usr/include/$name"
    rm -rf "$cache/headers/$name"
    cp -rL "/usr/include/$name" "$cache/headers/$name"
  done
  node_install
  emxx_on_path > /dev/null || [ -e "$wasm_root/.complete" ] && return
  say "making a Debian trixie root with Emscripten in $wasm_root (a minute or two, 2.4 GB)"
  make_private_root "$wasm_root" trixie emscripten ||
    { tail -n 5 "$cache/private_root.log" >&2; die "mmdebstrap failed (whole log: third_party/cache/private_root.log)"; }
}
