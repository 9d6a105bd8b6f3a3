# Where the WebAssembly tools are. Sourced by tools/setup.d/wasm.sh and tools/wasm/enter.

# The private root is shared by all checkouts of one user.
wasm_root=${PUNA_WASM_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/puna/emscripten-trixie}

# The em++ of PATH when it is 3.1.60 or newer; fails otherwise.
emxx_on_path() {
  local found version
  found=$(command -v em++) || return 1
  version=$("$found" --version 2> /dev/null | head -n 1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
  [ -n "$version" ] && printf '3.1.60\n%s\n' "$version" | sort -VC && echo "$found"
}

# The node of PATH when it is 20 or newer; fails otherwise.
node_on_path() {
  local found major
  found=$(command -v node) || return 1
  major=$("$found" -p 'process.versions.node.split(".")[0]' 2> /dev/null)
  [ "${major:-0}" -ge 20 ] && echo "$found"
}
