# tools/setup --browser: what testing the npm package needs: Node (with --wasm), npm's packages of bindings/js, and a Chromium.
source tools/setup.d/node.sh

browser_on_path() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

browser_present() {
  browser_on_path > /dev/null && packages_present bindings/js
}

browser_install() {
  browser_on_path > /dev/null || (apt_need chromium) || say "there is no Chromium: the tests in a browser will be skipped"
  packages_install bindings/js
}
