# What a WebAssembly build has instead of the system's libraries: headers that tools/setup --wasm collected, one thread,
# no exceptions. Tests are .js programs that Node runs; they read files of the machine through NODERAWFS.
set(CMAKE_EXECUTABLE_SUFFIX .js)
set(PUNA_TEST_PREFIX wasm.)  # of the tests' names, beside the native ones
set(headers ${PROJECT_SOURCE_DIR}/third_party/cache/headers)
if(NOT EXISTS ${headers}/fmt)
  message(FATAL_ERROR "third_party/cache/headers is missing: run tools/setup --wasm")
endif()

add_compile_options(-msimd128 -fno-exceptions)
add_link_options(-msimd128 -fno-exceptions -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=1MB -sNODERAWFS=1
  -sENVIRONMENT=node -sEXIT_RUNTIME=1 --profiling-funcs)

add_library(Threads::Threads INTERFACE IMPORTED)
add_library(fmt::fmt-header-only INTERFACE IMPORTED)
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1 FMT_EXCEPTIONS=0)
add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
target_compile_definitions(nlohmann_json::nlohmann_json INTERFACE JSON_NOEXCEPTION=1)
add_library(doctest::doctest INTERFACE IMPORTED)
target_compile_definitions(doctest::doctest INTERFACE DOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS
  DOCTEST_CONFIG_NO_POSIX_SIGNALS)
foreach(library fmt::fmt-header-only nlohmann_json::nlohmann_json doctest::doctest)
  target_include_directories(${library} SYSTEM INTERFACE ${headers})
endforeach()
