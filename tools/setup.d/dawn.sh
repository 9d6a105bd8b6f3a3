# tools/setup --dawn (`make dawn`): Dawn built from the sources of Debian forky, Vulkan only and with the C++ runtime inside, so that the
# library runs wherever this machine's glibc or a newer one is. Debian's own binary needs a newer glibc than Debian 12 has.

# FILE SHA-256, each as apt names it. dawn and abseil are source packages, the others headers that Dawn reads.
dawn_archive="dawn_0.0~git20260909.1a75cb7f.orig.tar.xz 3dccb438a5ce11a28c73e70bf40780f1ed06c9f859489b9bcfcf30105659315c"
dawn_patches="dawn_0.0~git20260909.1a75cb7f-1.debian.tar.xz b3a7ac080416fbe110ca3ee32a2c92d753c852df618519c7f499586c232cd866"
dawn_abseil="abseil_20260526.0.orig.tar.gz 6e1aee535473414164bf83e4ebc40240dec71a4701f8a642d906e95bea1aea0c"
dawn_headers=(
  "libvulkan-dev_1.4.363.0-1_amd64.deb 518e000aa44620ed45e3c842b81488e019b9794e234746366ece31f01221702c"
  "vulkan-utility-libraries-dev_1.4.363.0-1_amd64.deb ecd819baff1941564ef74dde9e5e5d56a25e16162e05612aeeece9e9b382b71d"
)
dawn_pin=$(sha256sum <<< "$dawn_archive $dawn_patches $dawn_abseil ${dawn_headers[*]}" | cut -d ' ' -f 1)

dawn_present() {
  [ -e "$cache/dawn/lib/libwebgpu_dawn.so" ] && [ "$(cat "$cache/dawn/.pin")" = "$dawn_pin" ]
}

dawn_install() {
  local work=$cache/dawn-build
  apt_need clang-19 lld-19 cmake ninja-build python3
  mkdir -p "$work"
  dawn_fetch "$work"
  dawn_unpack "$work"
  dawn_build "$work"
  rm -rf "$cache/dawn" && mkdir -p "$cache/dawn/lib"
  cp "$(find "$work/build" -name "libwebgpu_dawn.so*" -type f -print -quit)" "$cache/dawn/lib/libwebgpu_dawn.so"
  strip --strip-unneeded "$cache/dawn/lib/libwebgpu_dawn.so"
  echo "$dawn_pin" > "$cache/dawn/.pin"
  rm -rf "$work"
}

# dawn_fetch DIR: keeps what is there, so that a download that broke off goes on.
dawn_fetch() {
  local pair missing=()
  for pair in "$dawn_archive" "$dawn_patches" "$dawn_abseil" "${dawn_headers[@]}"; do
    [ -e "$1/${pair% *}" ] || missing+=("${pair% *}")
  done
  if [ ${#missing[@]} != 0 ]; then
    say "fetching ${missing[*]}"
    private_apt "deb deb-src" forky "$1" dawn_download ||
      { grep '^E:' "$cache/apt.log" >&2; die "apt could not download what Dawn is built from (Debian forky; whole log: third_party/cache/apt.log)"; }
  fi
  for pair in "$dawn_archive" "$dawn_patches" "$dawn_abseil" "${dawn_headers[@]}"; do
    [ -e "$1/${pair% *}" ] || die "apt brought another version than ${pair% *}, which is pinned in tools/setup.d/dawn.sh"
    check_sha256 "$1/${pair% *}" "${pair#* }"
  done
}

dawn_download() {
  apt-get -qq source --download-only abseil && apt-get -qq download libvulkan-dev vulkan-utility-libraries-dev &&
    apt-get -qq source --download-only dawn
}

dawn_unpack() {
  local pair patch
  rm -rf "$1/dawn" "$1/abseil" "$1/headers" && mkdir -p "$1/dawn" "$1/abseil" "$1/headers"
  tar xf "$1/${dawn_archive% *}" -C "$1/dawn" --strip-components=1
  tar xf "$1/${dawn_patches% *}" -C "$1/dawn"
  while read -r patch; do patch -s -d "$1/dawn" -p1 < "$1/dawn/debian/patches/$patch"; done < "$1/dawn/debian/patches/series"
  tar xf "$1/${dawn_abseil% *}" -C "$1/abseil" --strip-components=1
  for pair in "${dawn_headers[@]}"; do dpkg-deb -x "$1/${pair% *}" "$1/headers"; done
}

# The linker takes libstdc++ in, and only what webgpu.h and DawnNative.h declare goes out.
dawn_build() {
  local flags=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON "-DCMAKE_PREFIX_PATH=$1/abseil-installed;$1/headers/usr")
  say "building abseil and Dawn in third_party/cache/dawn-build (an hour or more on two cores; whole log: third_party/cache/dawn.log)"
  {
    cmake -S "$1/abseil" -B "$1/abseil-build" "${flags[@]}" -DCMAKE_CXX_STANDARD=20 -DABSL_PROPAGATE_CXX_STD=ON -DABSL_ENABLE_INSTALL=ON \
      -DCMAKE_INSTALL_PREFIX="$1/abseil-installed" &&
      cmake --build "$1/abseil-build" --target install &&
      cmake -S "$1/dawn" -B "$1/build" "${flags[@]}" -DDAWN_BUILD_MONOLITHIC_LIBRARY=SHARED -DDAWN_FETCH_DEPENDENCIES=OFF \
        -DDAWN_ENABLE_VULKAN=ON -DDAWN_ENABLE_OPENGLES=OFF -DDAWN_ENABLE_DESKTOP_GL=OFF -DDAWN_ENABLE_NULL=OFF -DDAWN_USE_GLFW=OFF \
        -DDAWN_USE_X11=OFF -DDAWN_USE_WAYLAND=OFF -DDAWN_BUILD_SAMPLES=OFF -DDAWN_BUILD_TESTS=OFF -DDAWN_BUILD_PROTOBUF=OFF \
        -DTINT_BUILD_CMD_TOOLS=OFF -DTINT_BUILD_TESTS=OFF -DTINT_BUILD_IR_BINARY=OFF \
        -DCMAKE_SHARED_LINKER_FLAGS="-static-libstdc++ -static-libgcc -fuse-ld=lld-19" &&
      cmake --build "$1/build" --target webgpu_dawn
  } > "$cache/dawn.log" 2>&1 || { tail -n 20 "$cache/dawn.log" >&2; die "Dawn could not be built (whole log: third_party/cache/dawn.log)"; }
}
