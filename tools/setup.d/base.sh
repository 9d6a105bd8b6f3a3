# tools/setup, the part that every build needs: Debian packages, wgpu-native, and the libraries that are built with Puna.

base_packages=(
  g++ cmake ninja-build make git ca-certificates python3 python3-pip pkg-config ccache xz-utils
  libfmt-dev nlohmann-json3-dev libcli11-dev libboost1.81-dev libcurl4-openssl-dev libssl-dev libedit-dev libsqlite3-dev libxxhash-dev libzip-dev zlib1g-dev
  doctest-dev libbenchmark-dev
  libvulkan1 mesa-vulkan-drivers
)

# wgpu-native 29 comes inside the wheel of the Python package wgpu: version, and the wheel's SHA-256 for each machine.
wgpu_version=0.32.0
wgpu_sha256_x86_64=6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568
wgpu_sha256_aarch64=00454ba1bc794d38c8365f4ad29f381b88ce0a7f115133bfaa6f1dfad7eb2764

source tools/setup.d/sources.sh

base_present() {
  [ -e "$cache/wgpu-native/lib/libwgpu_native-release.so" ] && [ -e "$cache/wgpu-native/include/webgpu/wgpu.h" ] &&
    sources_present
}

base_install() {
  apt_need "${base_packages[@]}"
  fetch_wgpu_native
  sources_install
}

fetch_wgpu_native() {
  local machine sum work=$cache/work
  machine=$(uname -m)
  sum=wgpu_sha256_$machine
  [ -n "${!sum:-}" ] || die "there is no pinned wgpu-native for machine type \"$machine\"; build with the preset no-gpu"
  [ "$(cat "$cache/wgpu-native/.pin" 2> /dev/null)" = "${!sum}" ] && return
  say "fetching wgpu-native (wheel wgpu $wgpu_version)"
  rm -rf "$work" && mkdir -p "$work"
  pip_wheel "wgpu==$wgpu_version" "manylinux_2_28_$machine" "$work"
  local wheel=("$work"/*.whl)
  check_sha256 "${wheel[0]}" "${!sum}"
  python3 -m zipfile -e "${wheel[0]}" "$work/wheel"
  rm -rf "$cache/wgpu-native" && mkdir -p "$cache/wgpu-native/include/webgpu" "$cache/wgpu-native/lib"
  cp "$work"/wheel/wgpu/resources/{webgpu,wgpu}.h "$cache/wgpu-native/include/webgpu/"
  cp "$work/wheel/wgpu/resources/libwgpu_native-release.so" "$cache/wgpu-native/lib/"
  echo "${!sum}" > "$cache/wgpu-native/.pin"
  rm -rf "$work"
}
