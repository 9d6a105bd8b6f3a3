# Helpers shared by the rooms' CMakeLists.

# Builds the programs of the tests with the label unit, which are what `make check` runs.
add_custom_target(unit_tests)
function(puna_unit_test test program)
  set_property(TEST ${PUNA_TEST_PREFIX}${test} APPEND PROPERTY LABELS unit)
  add_dependencies(unit_tests ${program})
endfunction()

# Builds the programs of the tests with the label threads, which `make check` runs with ThreadSanitizer too.
add_custom_target(thread_tests)
function(puna_thread_test test program)
  set_property(TEST ${PUNA_TEST_PREFIX}${test} APPEND PROPERTY LABELS threads)
  add_dependencies(thread_tests ${program})
endfunction()

# puna_room(NAME SOURCES ... [DEPS rooms and libraries it may use] [PRIVATE libraries] [TESTS files] [WGSL files]
#           [PRECOMPILE headers] [TEST_PRECOMPILE headers])
# Makes the static library puna_NAME and, where TESTS are given, the test program puna_NAME_test, which links nothing above the room.
# PRECOMPILE: what most of its files include, and takes them much of their time.
# WGSL files are embedded as text under their path below src/.
function(puna_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE;TESTS;TEST_DEPS;PRECOMPILE;TEST_PRECOMPILE" ${ARGN})
  add_library(puna_${name} STATIC ${ARG_SOURCES})
  target_include_directories(puna_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(puna_${name} PUBLIC cxx_std_23)
  target_link_libraries(puna_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE} puna_options)
  if(NOT name MATCHES "^(kernels|quant)$")
    target_link_libraries(puna_${name} PRIVATE puna_no_slp)
  endif()
  # What a page has to fetch first counts more there than the speed of rooms that neither compute nor look at each token.
  if(EMSCRIPTEN AND NOT name MATCHES "^(base|engine|grammar|kernels|media|quant|tokenizer)$")
    target_compile_options(puna_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  puna_compile_fast(puna_${name} ${PUNA_COMMON_HEADERS} ${ARG_PRECOMPILE})
  if(ARG_TESTS AND PUNA_TESTS)
    add_executable(puna_${name}_test ${ARG_TESTS})
    target_link_libraries(puna_${name}_test PRIVATE puna_${name} ${ARG_TEST_DEPS} puna_test_main puna_options puna_test_options)
    puna_compile_fast(puna_${name}_test ${PUNA_COMMON_HEADERS} <doctest/doctest.h> ${ARG_TEST_PRECOMPILE})
    add_test(NAME ${PUNA_TEST_PREFIX}${name} COMMAND puna_${name}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    puna_unit_test(${name} puna_${name}_test)
  endif()
endfunction()

# puna_embed(TARGET FUNCTION files...): adds a generated source that defines
#   std::span<const puna::base::EmbeddedFile> FUNCTION();   with names relative to src/
function(puna_embed target function)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.cpp)
  set(paths)
  foreach(file ${ARGN})
    list(APPEND paths ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DFUNCTION=${function} -DROOT=${PROJECT_SOURCE_DIR}/src "-DFILES=${paths}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
