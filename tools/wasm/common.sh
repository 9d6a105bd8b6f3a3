# Where the WebAssembly tools are. Sourced by tools/setup.d/wasm.sh and tools/wasm/enter.
source "$(dirname "${BASH_SOURCE[0]}")/../private_root.sh"

wasm_root=${PUNA_WASM_ROOT:-$(private_root emscripten-trixie)}

# The em++ of PATH when it is 3.1.60 or newer; fails otherwise.
emxx_on_path() {
  local found version
  found=$(command -v em++) || return 1
  version=$("$found" --version 2> /dev/null | head -n 1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
  [ -n "$version" ] && printf '3.1.60\n%s\n' "$version" | sort -VC && echo "$found"
}

# The node of PATH when it is 22.17 or newer (what SvelteKit asks for); fails otherwise.
node_on_path() {
  local found
  found=$(command -v node) || return 1
  "$found" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 17) ? 0 : 1)' 2> /dev/null &&
    echo "$found"
}
