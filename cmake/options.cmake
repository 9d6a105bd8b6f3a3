# What holds for every target: language, warnings, sanitizers, run paths, and the libraries that the system provides.
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT EMSCRIPTEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
find_program(PUNA_CCACHE ccache)
if(PUNA_CCACHE AND UNIX AND NOT EMSCRIPTEN)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/compile_cached ${PUNA_CCACHE} ${PROJECT_SOURCE_DIR})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

add_library(puna_options INTERFACE)
target_compile_options(puna_options INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion
  $<$<BOOL:${PUNA_WERROR}>:-Werror>)
# GCC 12 warns of copies in std::string's own code that overlap or run over (GCC bugs 105329 and 105651). Clang and the sanitizers look for
# such faults in ours.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(puna_options INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# GCC 12.2 may build a vector of values before they are computed where it vectorizes code that is no loop (superwords): service/embed.cpp was
# seen to give a result that was never set. The rooms go without, but for those whose results are all compared with those of plain code.
add_library(puna_no_slp INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(puna_no_slp INTERFACE -fno-tree-slp-vectorize)
endif()

# Clang forgets what the library's headers say of warnings in themselves once they are precompiled, and clang-tidy does so at any time
# (std::stable_sort of libstdc++ 12).
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(puna_options INTERFACE -Wno-deprecated-declarations)
endif()

include(together)

# Headers that most files include are read once a target. A file still has to include what it uses: clang-tidy goes without.
option(PUNA_PRECOMPILE "Precompile the headers that most files include" ON)
# puna_compile_fast(TARGET headers...): precompiles these headers for it and compiles its files together, each where it is asked for. To be called
# when the target has its sources.
function(puna_compile_fast target)
  if(PUNA_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  puna_compile_together(${target})
endfunction()
set(PUNA_COMMON_HEADERS <algorithm> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view> <unordered_map> <utility>
  <variant> <vector> <fmt/format.h>)

# What need not be fast takes less to compile with less optimising.
add_library(puna_slow_is_fine INTERFACE)
target_compile_options(puna_slow_is_fine INTERFACE $<$<CONFIG:Release>:-O1>)

# Sizes in tests are small; in the rooms a 64-bit size that meets wasm32's size_t is worth the warning that -Wconversion brings.
add_library(puna_test_options INTERFACE)
target_link_libraries(puna_test_options INTERFACE puna_slow_is_fine)
if(EMSCRIPTEN)
  target_compile_options(puna_test_options INTERFACE -Wno-shorten-64-to-32)
endif()

if(PUNA_SANITIZE)
  add_compile_options(-fsanitize=${PUNA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PUNA_SANITIZE})
  # A fault of these is one of the address sanitizer too, and they take a quarter of the time that a file takes to compile.
  if(PUNA_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=null,object-size,vptr)
  endif()
  # GCC 12 sees possible nulls and uninitialised values through the sanitizers' instrumentation that are not there.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(puna_options INTERFACE -Wno-maybe-uninitialized -Wno-null-dereference)
  endif()
endif()

if(PUNA_PORTABLE)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

if(EMSCRIPTEN)
  include(wasm)
else()
  find_package(Threads REQUIRED)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
  if(PUNA_TESTS)
    find_package(doctest REQUIRED)
  endif()
endif()
# The fmt that rooms link: header-only where the program must not depend on the system's library.
add_library(puna_fmt INTERFACE)
if(PUNA_PORTABLE)
  target_link_libraries(puna_fmt INTERFACE fmt::fmt-header-only)
else()
  target_link_libraries(puna_fmt INTERFACE fmt::fmt)
endif()
if(PUNA_TESTS)
  enable_testing()
endif()
