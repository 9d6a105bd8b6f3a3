# tools/setup --check: the compiler, formatter and linter of `make check`.

check_packages=(clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev lld-19)

check_present() { command -v clang++-19 clang-tidy-19 clang-format-19 > /dev/null; }

check_install() { apt_need "${check_packages[@]}"; }
