# 64-bit Arm by Clang with Debian's cross libraries (GCC 12 has not what kernels for dot products and bf16 need); programs run under
# qemu-user, as the processor of PUNA_QEMU_CPU (max has dot products and bf16, cortex-a72 neither). CONTRIBUTING.md says what to install.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(PUNA_QEMU_CPU max CACHE STRING "The processor that qemu-user plays")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu ${PUNA_QEMU_CPU})

# Of the host's fmt only the headers are used (PUNA_PORTABLE).
file(GLOB fmt_DIR /usr/lib/*/cmake/fmt)
