# Compile options that hold for every target of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(weir_options INTERFACE)
target_include_directories(weir_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# No implicit fused multiply-add: all instruction sets round alike (docs/explanation/same-bits.md).
target_compile_options(weir_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                       -ffp-contract=off)
# Messages name files from the root, and ccache knows a file wherever the tree lies.
target_compile_options(weir_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
# Designated initialisers name what differs from the default. GCC 12 warns wrongly about string
# concatenation (GCC bug 105651).
target_compile_options(weir_options INTERFACE -Wno-missing-field-initializers
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CMAKE_UNITY_BUILD)
  # GCC takes the files of one unit for headers, and finds writes past the end of vectors that it has inlined
  # (GCC bug 105329).
  target_compile_options(weir_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                                                $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
endif()
if(WEIR_WERROR)
  target_compile_options(weir_options INTERFACE -Werror)
endif()
if(WEIR_SANITIZE)
  # GCC 12 finds uninitialised members in std::regex once it is instrumented (GCC bug 105562).
  target_compile_options(weir_options INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(weir_options INTERFACE -fsanitize=${WEIR_SANITIZE})
  # A null pointer ends the program anyway; its checks would double the time of compiling.
  target_compile_options(weir_options INTERFACE -fno-sanitize=null,vptr)
endif()

# weir_compile_alone(<file>...): never in one unit with other files (CMAKE_UNITY_BUILD). Files that Highway
# compiles once for each instruction set define what only they may.
function(weir_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
