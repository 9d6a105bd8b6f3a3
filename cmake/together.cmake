# Compiles the files of a target together, some thousand lines at a time: what they include is read once, and of a template that several use one
# copy is made, optimised and instrumented. A whole build takes half of the time; after a change of one file its batch is compiled anew.
option(PUNA_TOGETHER "Compile files of a room together: faster for a whole build, slower after a small change (needs Python)" OFF)
set(PUNA_LINES_TOGETHER 2500)
if(PUNA_TOGETHER)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # GCC takes every file that is included for a header, in which a type of one file alone would be a fault.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endif()

# puna_compile_together(TARGET): part of puna_compile_fast.
function(puna_compile_together target)
  if(NOT PUNA_TOGETHER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^[^$]*\\.cpp$")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/together.py ${PUNA_LINES_TOGETHER} ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" batches "${batches}")
  foreach(source batch IN ZIP_LISTS sources batches)
    if(NOT batch STREQUAL "-")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${batch})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
