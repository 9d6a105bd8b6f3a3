# tools/setup --matrix-units: a lavapipe that computes matrix units, and a Dawn that reaches them, both of Debian forky, whose glibc is newer
# than Debian 12's. They are in a private root (a quarter of a minute, 0.7 GB), entered by tools/lavapipe/matrix_units.
source tools/lavapipe/common.sh

matrix_units_present() { [ -e "$matrix_units_root/.complete" ]; }

matrix_units_install() {
  matrix_units_present && return
  say "making a Debian forky root with Mesa and Dawn in $matrix_units_root"
  make_private_root "$matrix_units_root" forky mesa-vulkan-drivers,libvulkan1,libwebgpu-dawn0 ||
    { tail -n 5 "$cache/private_root.log" >&2; die "mmdebstrap failed (whole log: third_party/cache/private_root.log)"; }
}
