# What a WebAssembly build has instead of the system's libraries: headers that tools/setup --wasm collected, and no exceptions.
# Tests are .js programs that Node runs (puna_node); what a page loads is made in bindings/js.
set(CMAKE_EXECUTABLE_SUFFIX .js)
set(PUNA_TEST_PREFIX wasm.)  # of the tests' names, beside the native ones
# The headers of Emscripten's own root cannot be seen from outside of it: without them in the list of what an object depends on, an
# object is not built again each time.
set(CMAKE_DEPFILE_FLAGS_C "-MMD -MT <DEP_TARGET> -MF <DEP_FILE>")
set(CMAKE_DEPFILE_FLAGS_CXX "-MMD -MT <DEP_TARGET> -MF <DEP_FILE>")
set(headers ${PROJECT_SOURCE_DIR}/third_party/cache/headers)
if(NOT EXISTS ${headers}/fmt)
  message(FATAL_ERROR "third_party/cache/headers is missing: run tools/setup --wasm")
endif()

add_compile_options(-msimd128 -fno-exceptions)
add_link_options(-msimd128 -fno-exceptions -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=1MB)

# Pages that are cross-origin isolated may have threads; browsers that give them have relaxed SIMD, or take the other build.
if(PUNA_WASM_THREADS)
  add_compile_options(-pthread -mrelaxed-simd)
  # JavaScript looks at the memory anew each time; it does little with it.
  add_link_options(-pthread -Wno-pthreads-mem-growth)
endif()

# Programs for Node read files of the machine. Objects are optimized already; linking with -O1 leaves out wasm-opt, which takes a minute
# for the largest. What a page loads goes through it, and the package's tests with that.
add_library(puna_node INTERFACE)
target_link_options(puna_node INTERFACE -O1 -sNODERAWFS=1 -sENVIRONMENT=node -sEXIT_RUNTIME=1 --profiling-funcs)
if(PUNA_WASM_THREADS)
  # The event loop stays free to start workers.
  target_link_options(puna_node INTERFACE -sENVIRONMENT=node,worker -sPROXY_TO_PTHREAD=1)
endif()

add_library(Threads::Threads INTERFACE IMPORTED)
# Headers alone would be a third of what most files take to compile.
add_library(puna_fmt_library STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
add_library(fmt::fmt ALIAS puna_fmt_library)
target_compile_features(puna_fmt_library PUBLIC cxx_std_23)
target_compile_definitions(puna_fmt_library PUBLIC FMT_EXCEPTIONS=0)
target_include_directories(puna_fmt_library SYSTEM PUBLIC ${headers})
add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
target_compile_definitions(nlohmann_json::nlohmann_json INTERFACE JSON_NOEXCEPTION=1)
add_library(doctest::doctest INTERFACE IMPORTED)
target_compile_definitions(doctest::doctest INTERFACE DOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS
  DOCTEST_CONFIG_NO_POSIX_SIGNALS)
foreach(library nlohmann_json::nlohmann_json doctest::doctest)
  target_include_directories(${library} SYSTEM INTERFACE ${headers})
endforeach()
