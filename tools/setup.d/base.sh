# tools/setup, the part that every build needs: Debian packages, wgpu-native, Highway.

base_packages=(
  g++ cmake ninja-build make git ca-certificates python3 python3-pip pkg-config ccache
  libfmt-dev nlohmann-json3-dev libcli11-dev libboost1.81-dev libcurl4-openssl-dev libssl-dev libedit-dev libxxhash-dev libzip-dev zlib1g-dev
  doctest-dev libbenchmark-dev
  libvulkan1 mesa-vulkan-drivers
)

# wgpu-native 29 comes inside the wheel of the Python package wgpu: version, and the wheel's SHA-256 for each machine.
wgpu_version=0.32.0
wgpu_sha256_x86_64=6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568
wgpu_sha256_aarch64=00454ba1bc794d38c8365f4ad29f381b88ce0a7f115133bfaa6f1dfad7eb2764

# Highway comes from Debian trixie's source package.
highway_version=1.2.0
highway_sha256=7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343

base_present() {
  [ -e "$cache/wgpu-native/lib/libwgpu_native-release.so" ] && [ -e "$cache/wgpu-native/include/webgpu/wgpu.h" ] &&
    [ -e "$cache/highway/hwy/highway.h" ]
}

base_install() {
  apt_need "${base_packages[@]}"
  fetch_wgpu_native
  fetch_highway
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

# Asks apt for trixie's source package under a configuration of its own, so that the machine's package lists stay as they are.
fetch_highway() {
  local work=$cache/work archive=highway_$highway_version.orig.tar.gz
  [ "$(cat "$cache/highway/.pin" 2> /dev/null)" = "$highway_sha256" ] && return
  say "fetching Highway $highway_version (Debian source package)"
  rm -rf "$work" && mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  trixie_source deb-src > "$work/trixie.sources"
  cat > "$work/apt.conf" << CONF
Dir::Etc::sourcelist "$work/trixie.sources";
Dir::Etc::sourceparts "/nonexistent";
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
APT::Sandbox::User "";
CONF
  (cd "$work" && export APT_CONFIG=$work/apt.conf && apt-get -qq update &&
    apt-get -qq source --download-only --only-source highway > /dev/null) > "$cache/apt.log" 2>&1 && [ -e "$work/$archive" ] ||
    { tail -n 5 "$cache/apt.log" >&2; die "apt could not download the source package highway ($highway_version wanted)"; }
  check_sha256 "$work/$archive" "$highway_sha256"
  rm -rf "$cache/highway" && mkdir -p "$cache/highway"
  tar xzf "$work/$archive" -C "$cache/highway" --strip-components=1
  echo "$highway_sha256" > "$cache/highway/.pin"
  rm -rf "$work"
}
