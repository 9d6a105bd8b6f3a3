# The web page inside the program (docs/web.md): that of PUNA_WEB_ARCHIVE, else web/ as it is built here where its tools are there, else one
# that says how to get it.
set(PUNA_WEB_ARCHIVE "" CACHE FILEPATH "The page of a release (a tar file), in place of building web/")
option(PUNA_WEB "Build the page of web/ where tools/setup --web has got its tools" ON)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
enable_language(ASM)

# Sets FROM, a folder or a tar file, and in BEFORE and DEPENDS what makes it.
function(puna_find_page)
  set(BEFORE "" PARENT_SCOPE)
  if(PUNA_WEB_ARCHIVE)
    if(NOT EXISTS ${PUNA_WEB_ARCHIVE})
      message(FATAL_ERROR "PUNA_WEB_ARCHIVE is \"${PUNA_WEB_ARCHIVE}\", which is not there")
    endif()
    set(FROM ${PUNA_WEB_ARCHIVE} PARENT_SCOPE)
    set(DEPENDS ${PUNA_WEB_ARCHIVE} PARENT_SCOPE)
    return()
  endif()
  set(web ${PROJECT_SOURCE_DIR}/web)
  if(PUNA_WEB)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/build_web --check RESULT_VARIABLE lacks ERROR_VARIABLE why ERROR_STRIP_TRAILING_WHITESPACE)
  else()
    set(why "PUNA_WEB is off")
  endif()
  if(PUNA_WEB AND NOT lacks)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/* ${web}/static/*)
    # What tools/build_web puts there itself.
    list(FILTER sources EXCLUDE REGEX "/static/puna[./]")
    file(GLOB settings CONFIGURE_DEPENDS ${web}/*.ts ${web}/*.json)
    file(GLOB engine CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/build/wasm*/bindings/js/*.wasm)
    set(FROM ${web}/build PARENT_SCOPE)
    set(BEFORE ${PROJECT_SOURCE_DIR}/tools/build_web PARENT_SCOPE)
    set(DEPENDS ${sources} ${settings} ${engine} ${PROJECT_SOURCE_DIR}/tools/build_web ${PROJECT_SOURCE_DIR}/tools/web/tab.mjs PARENT_SCOPE)
    return()
  endif()
  message(STATUS "The program gets no web page (${why}); docs/web.md says how it can")
  set(FROM ${PROJECT_SOURCE_DIR}/src/server/page/none PARENT_SCOPE)
  set(DEPENDS ${PROJECT_SOURCE_DIR}/src/server/page/none/index.html PARENT_SCOPE)
endfunction()

# puna_pack_page(TARGET FUNCTION [FROM folder or tar file]): adds to TARGET the files of FROM, or of the page, and
#   std::span<const puna::server::PageFile> puna::server::FUNCTION();
function(puna_pack_page target function)
  cmake_parse_arguments(ARG "" "FROM" "" ${ARGN})
  set(FROM ${ARG_FROM})
  if(NOT FROM)
    puna_find_page()
  else()
    file(GLOB DEPENDS CONFIGURE_DEPENDS ${FROM}/*)
  endif()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${function})
  set(before)
  if(BEFORE)
    set(before COMMAND ${BEFORE})
  endif()
  add_custom_command(
    OUTPUT ${out}/page_files.cpp ${out}/page_bytes.S ${out}/page.pack
    ${before}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/pack_page ${FROM} ${out} --function ${function}
    DEPENDS ${DEPENDS} ${PROJECT_SOURCE_DIR}/tools/pack_page
    COMMENT "Packing the web page of ${FROM}"
    VERBATIM)
  # By itself: the options of C++ are none of an assembler's.
  set_source_files_properties(${out}/page_bytes.S PROPERTIES OBJECT_DEPENDS ${out}/page.pack)
  add_library(${target}_page_bytes OBJECT ${out}/page_bytes.S)
  target_include_directories(${target}_page_bytes PRIVATE ${out})
  target_sources(${target} PRIVATE ${out}/page_files.cpp $<TARGET_OBJECTS:${target}_page_bytes>)
endfunction()
