# Emscripten: em++ of PATH when it is 3.1.60 or newer, else the one in the private root of `tools/setup --wasm`.
# CMake 3.25 knows no platform Emscripten; Generic with the few differences of wasm.cmake is enough.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(EMSCRIPTEN TRUE)

get_filename_component(puna_wasm_tools ${CMAKE_CURRENT_LIST_DIR}/../tools/wasm ABSOLUTE)
execute_process(COMMAND bash -c "source ${puna_wasm_tools}/common.sh; emxx_on_path"
  OUTPUT_VARIABLE puna_emxx OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE puna_emxx_missing)
if(NOT puna_emxx_missing)
  get_filename_component(puna_wasm_tools ${puna_emxx} DIRECTORY)
endif()
set(CMAKE_C_COMPILER ${puna_wasm_tools}/emcc)
set(CMAKE_CXX_COMPILER ${puna_wasm_tools}/em++)
set(CMAKE_AR ${puna_wasm_tools}/emar CACHE FILEPATH "")
set(CMAKE_RANLIB ${puna_wasm_tools}/emranlib CACHE FILEPATH "")

execute_process(COMMAND bash -c "source ${CMAKE_CURRENT_LIST_DIR}/../tools/wasm/common.sh; node_on_path"
  OUTPUT_VARIABLE puna_node OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE puna_node_missing)
if(puna_node_missing)
  get_filename_component(puna_node ${CMAKE_CURRENT_LIST_DIR}/../third_party/cache/node/bin/node ABSOLUTE)
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR ${puna_node})

set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
