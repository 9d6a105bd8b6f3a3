# tools/setup --web: what builds the web page: Node, and npm's packages of web/.
source tools/setup.d/node.sh

web_present() { node_present && packages_present web; }

web_install() {
  node_install
  packages_install web
}
