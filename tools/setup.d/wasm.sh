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
  emxx_on_path > /dev/null || make_wasm_root
}

make_wasm_root() {
  [ -e "$wasm_root/.complete" ] && return
  apt_need mmdebstrap
  local parent sources=$cache/trixie.sources run=()
  [ "$(id -u)" = 0 ] || run=(as_root)
  parent=$(dirname "$wasm_root")
  mkdir -p "$parent"
  say "making a Debian trixie root with Emscripten in $wasm_root (a minute or two, 2.4 GB)"
  "${run[@]}" rm -rf "$wasm_root" "$wasm_root.part"
  debian_source deb trixie > "$sources"
  "${run[@]}" mmdebstrap --variant=apt --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --include=emscripten trixie "$wasm_root.part" "$sources" > "$cache/wasm_root.log" 2>&1 ||
    { tail -n 5 "$cache/wasm_root.log" >&2; die "mmdebstrap failed (whole log: third_party/cache/wasm_root.log)"; }
  # Where the project cannot be mounted at its own path, its first folder must exist (see tools/wasm/enter).
  "${run[@]}" mkdir -p "$wasm_root.part/$(echo "$root" | cut -d / -f 2)"
  "${run[@]}" touch "$wasm_root.part/.complete"
  "${run[@]}" mv "$wasm_root.part" "$wasm_root"
}
