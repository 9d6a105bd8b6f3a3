# Targets for the parts that tools/setup fetches into third_party/cache/:
#   puna_webgpu                #include <webgpu/webgpu.h>, <webgpu/wgpu.h>   (with PUNA_GPU; the library itself is loaded at run time)
#   hwy::hwy                   #include "hwy/highway.h"
set(PUNA_CACHE_DIR ${PROJECT_SOURCE_DIR}/third_party/cache)

function(puna_require_cached file)
  if(NOT EXISTS ${PUNA_CACHE_DIR}/${file})
    message(FATAL_ERROR "third_party/cache/${file} is missing: run tools/setup")
  endif()
endfunction()

# Where a build finds the libraries of WebGPU at run time: here, where tools/setup and `make dawn` put them.
set(PUNA_WEBGPU_DIRS ${PUNA_CACHE_DIR}/wgpu-native/lib ${PUNA_CACHE_DIR}/dawn/lib)
if(PUNA_GPU)
  puna_require_cached(wgpu-native/include/webgpu/wgpu.h)
  add_library(puna_webgpu INTERFACE)
  target_include_directories(puna_webgpu SYSTEM INTERFACE ${PUNA_CACHE_DIR}/wgpu-native/include)
  list(APPEND CMAKE_BUILD_RPATH ${PUNA_WEBGPU_DIRS})
endif()

puna_require_cached(highway/hwy/highway.h)
set(hwy_dir ${PUNA_CACHE_DIR}/highway/hwy)
add_library(hwy STATIC ${hwy_dir}/abort.cc ${hwy_dir}/aligned_allocator.cc ${hwy_dir}/per_target.cc ${hwy_dir}/print.cc
  ${hwy_dir}/targets.cc ${hwy_dir}/timer.cc)
add_library(hwy::hwy ALIAS hwy)
target_include_directories(hwy SYSTEM PUBLIC ${PUNA_CACHE_DIR}/highway)
target_compile_features(hwy PUBLIC cxx_std_17)
target_compile_definitions(hwy PUBLIC HWY_STATIC_DEFINE)
# Builds with sanitizers make the kernels for the building machine's instructions alone, which takes a third of the time; releases go through all.
if(EMSCRIPTEN OR PUNA_SANITIZE)
  target_compile_definitions(hwy PUBLIC HWY_COMPILE_ONLY_STATIC)
endif()
if(PUNA_SANITIZE AND NOT EMSCRIPTEN)
  target_compile_options(hwy PUBLIC -march=native -ffp-contract=off)
endif()
target_compile_options(hwy PRIVATE -w)
