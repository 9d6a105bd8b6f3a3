# tools/setup --check: the compiler, formatter and linter of `make check`, and a registry of models for its tests.

check_packages=(clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev lld-19)

check_present() {
  local tool
  for tool in clang++-19 clang-tidy-19 clang-format-19 ld.lld-19; do command -v "$tool" > /dev/null || return 1; done
}

check_install() {
  apt_need "${check_packages[@]}"
  unpack_registry
}

# Debian's docker-registry for tests/cli/registry_test.py, which is skipped without. Installed it would run as a service, so it is only
# unpacked.
unpack_registry() {
  [ ! -x "$cache/docker-registry/usr/bin/docker-registry" ] || return 0
  command -v dpkg-deb > /dev/null || return 0
  local work=$cache/registry.part
  rm -rf "$work" && mkdir -p "$work"
  if (cd "$work" && apt-get download -qq docker-registry > "$cache/apt.log" 2>&1 && dpkg-deb -x docker-registry_*.deb unpacked); then
    rm -rf "$cache/docker-registry" && mv "$work/unpacked" "$cache/docker-registry"
  else
    say "Debian's docker-registry could not be downloaded, so the test that pushes to one is skipped"
  fi
  rm -rf "$work"
}
