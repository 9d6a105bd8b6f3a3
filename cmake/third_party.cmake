# Targets for the parts that tools/setup fetches into third_party/cache/:
#   wgpu_native::wgpu_native   #include <webgpu/webgpu.h>, <webgpu/wgpu.h>   (with PUNA_GPU)
#   puna_webgpu                the WebGPU library of the build: that, or Dawn where PUNA_WEBGPU says so (its package needs CMake 3.28)
#   hwy::hwy                   #include "hwy/highway.h"
set(PUNA_CACHE_DIR ${PROJECT_SOURCE_DIR}/third_party/cache)

function(puna_require_cached file)
  if(NOT EXISTS ${PUNA_CACHE_DIR}/${file})
    message(FATAL_ERROR "third_party/cache/${file} is missing: run tools/setup")
  endif()
endfunction()

set(PUNA_WEBGPU wgpu-native CACHE STRING "The WebGPU library: wgpu-native, or dawn as find_package finds it")
if(PUNA_GPU)
  add_library(puna_webgpu INTERFACE)
  if(PUNA_WEBGPU STREQUAL dawn)
    find_package(Dawn REQUIRED)
    target_link_libraries(puna_webgpu INTERFACE dawn::webgpu_dawn)
  else()
    puna_require_cached(wgpu-native/lib/libwgpu_native-release.so)
    add_library(wgpu_native::wgpu_native SHARED IMPORTED GLOBAL)
    set_target_properties(wgpu_native::wgpu_native PROPERTIES
      IMPORTED_LOCATION ${PUNA_CACHE_DIR}/wgpu-native/lib/libwgpu_native-release.so
      IMPORTED_NO_SONAME ON
      INTERFACE_INCLUDE_DIRECTORIES ${PUNA_CACHE_DIR}/wgpu-native/include)
    target_link_libraries(puna_webgpu INTERFACE wgpu_native::wgpu_native)
  endif()
endif()

puna_require_cached(highway/hwy/highway.h)
set(hwy_dir ${PUNA_CACHE_DIR}/highway/hwy)
add_library(hwy STATIC ${hwy_dir}/abort.cc ${hwy_dir}/aligned_allocator.cc ${hwy_dir}/per_target.cc ${hwy_dir}/print.cc
  ${hwy_dir}/targets.cc ${hwy_dir}/timer.cc)
add_library(hwy::hwy ALIAS hwy)
target_include_directories(hwy SYSTEM PUBLIC ${PUNA_CACHE_DIR}/highway)
target_compile_features(hwy PUBLIC cxx_std_17)
target_compile_definitions(hwy PUBLIC HWY_STATIC_DEFINE)
if(EMSCRIPTEN)
  target_compile_definitions(hwy PUBLIC HWY_COMPILE_ONLY_STATIC)
endif()
target_compile_options(hwy PRIVATE -w)
