# tools/setup --browser: what testing the npm package needs: Node (with --wasm), npm's packages of bindings/js, and a Chromium.
source tools/wasm/common.sh

package_dir=$root/bindings/js
package_stamp=$package_dir/node_modules/.puna-setup

browser_on_path() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

browser_present() {
  browser_on_path > /dev/null && [ -e "$package_stamp" ] && [ "$(cat "$package_stamp")" = "$(package_lock_sum)" ]
}

package_lock_sum() { sha256sum < "$package_dir/package-lock.json"; }

browser_install() {
  browser_on_path > /dev/null || (apt_need chromium) || say "there is no Chromium: the tests in a browser will be skipped"
  [ -e "$package_stamp" ] && [ "$(cat "$package_stamp")" = "$(package_lock_sum)" ] && return
  say "getting the development packages of bindings/js"
  (cd "$package_dir" && npm_of_node ci --ignore-scripts --no-audit --no-fund > "$cache/npm.log" 2>&1) ||
    { tail -n 5 "$cache/npm.log" >&2; die "npm could not install the packages of bindings/js (whole log: third_party/cache/npm.log)"; }
  package_lock_sum > "$package_stamp"
}

# The npm of PATH, else the one that came with the Node of tools/setup --wasm.
npm_of_node() {
  if node_on_path > /dev/null && command -v npm > /dev/null; then npm "$@"; return; fi
  local node=$cache/node
  [ -e "$node/lib/node_modules/npm/bin/npm-cli.js" ] || die "npm was not found; install it, or Node with tools/setup --wasm"
  PATH="$node/bin:$PATH" node "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
}
