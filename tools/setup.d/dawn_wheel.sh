# tools/setup --dawn-wheel: Dawn out of a wheel of the Python package rillfacet. Its publisher is a small one and no part of the Dawn
# project, so nothing takes it unasked; what is taken is pinned. Linux on x86-64 only.
dawn_wheel_version=0.1.3
dawn_wheel_sha256_x86_64=b333f2c4c84df2f1105e4d0146e3c7aae8dd2200a0b6c7ded74c38e8ca0a5f93

dawn_wheel_sum() {
  local sum=dawn_wheel_sha256_$(uname -m)
  echo "${!sum:-}"
}

dawn_wheel_present() {
  [ -e "$cache/dawn/lib/libwebgpu_dawn.so" ] && [ "$(cat "$cache/dawn/.pin")" = "$(dawn_wheel_sum)" ]
}

dawn_wheel_install() {
  local sum work=$cache/work
  sum=$(dawn_wheel_sum)
  [ -n "$sum" ] || die "there is no pinned wheel with Dawn for machine type \"$(uname -m)\"; \`make dawn\` builds it"
  say "fetching Dawn (wheel rillfacet $dawn_wheel_version, of a small publisher)"
  rm -rf "$work" && mkdir -p "$work"
  pip_wheel "rillfacet==$dawn_wheel_version" "manylinux_2_27_$(uname -m)" "$work" --python-version 3.11 --implementation cp --abi cp311
  local wheel=("$work"/*.whl)
  check_sha256 "${wheel[0]}" "$sum"
  python3 -m zipfile -e "${wheel[0]}" "$work/wheel"
  rm -rf "$cache/dawn" && mkdir -p "$cache/dawn/lib"
  cp "$work/wheel/rillfacet/libwebgpu_dawn.so" "$cache/dawn/lib/"
  echo "$sum" > "$cache/dawn/.pin"
  rm -rf "$work"
}
