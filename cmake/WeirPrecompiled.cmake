# Headers that are compiled once instead of once a file: reading the standard library and GoogleTest is
# two thirds of the time of compiling. Every file still includes what it uses: scripts/tidy compiles
# each one without these.

set(WEIR_STANDARD_HEADERS
    <algorithm> <array> <atomic> <bit> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque>
    <filesystem> <fstream> <functional> <limits> <list> <map> <memory> <mutex> <numeric> <optional>
    <random> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant>
    <vector>)
# What ccache needs in order to know the macros of a precompiled header.
target_compile_options(weir_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)

# weir_precompiled(<name> OBJECT|EXECUTABLE HEADERS <header>... [LIBRARIES <target>...])
#
# A target that holds precompiled headers and nothing else; others take them by
# target_precompile_headers(... REUSE_FROM <name>). They have to be compiled with the same flags:
# libraries (position-independent code) reuse from an OBJECT, programs from an EXECUTABLE.
function(weir_precompiled name kind)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
  if(kind STREQUAL "OBJECT")
    add_library(${name} OBJECT ${source})
  else()
    add_executable(${name} ${source})
  endif()
  target_link_libraries(${name} PRIVATE weir_options ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

weir_precompiled(weir_room_headers OBJECT HEADERS ${WEIR_STANDARD_HEADERS})
