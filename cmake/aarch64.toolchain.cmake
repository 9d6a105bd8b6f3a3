# 64-bit Arm by Debian's cross compiler; programs run under qemu-user, as the processor of PUNA_QEMU_CPU (max has dot products and matrix
# products, cortex-a76 the former, cortex-a72 neither). CONTRIBUTING.md says what to install.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(PUNA_QEMU_CPU max CACHE STRING "The processor that qemu-user plays")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu ${PUNA_QEMU_CPU})

# Of the host's fmt only the headers are used (PUNA_PORTABLE).
file(GLOB fmt_DIR /usr/lib/*/cmake/fmt)
