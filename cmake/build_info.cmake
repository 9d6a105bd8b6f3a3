# puna_build_info(OUT): what this build is called to clients of llama.cpp's server, which looks like
# "b1234-0123abc": the commits until this one, and the last; "b0-VERSION" outside a repository. As of when
# CMake was run last.
function(puna_build_info out)
  set(${out} "b0-${PROJECT_VERSION}" PARENT_SCOPE)
  find_package(Git QUIET)
  if(NOT GIT_FOUND)
    return()
  endif()
  foreach(what "rev-list;--count;HEAD" "rev-parse;--short;HEAD")
    execute_process(COMMAND ${GIT_EXECUTABLE} ${what} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(failed)
      return()
    endif()
    list(APPEND texts ${text})
  endforeach()
  list(JOIN texts "-" text)
  set(${out} "b${text}" PARENT_SCOPE)
endfunction()
