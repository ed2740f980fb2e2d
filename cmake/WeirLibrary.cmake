# The one library that programs link: all rooms of the engine, weir::weir.

get_property(rooms GLOBAL PROPERTY WEIR_ROOMS)
get_property(room_libraries GLOBAL PROPERTY WEIR_ROOM_LIBRARIES)
list(REMOVE_DUPLICATES room_libraries)

add_library(weir SHARED)
add_library(weir::weir ALIAS weir)
set_target_properties(weir PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(weir PRIVATE ${rooms})
target_include_directories(weir INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                          $<INSTALL_INTERFACE:include>)
target_compile_features(weir INTERFACE cxx_std_20)

# What weirrun --servers starts, which finds it beside itself.
add_executable(weir-server ${PROJECT_SOURCE_DIR}/coordinator/engine/weir_server.cc)
target_link_libraries(weir-server PRIVATE weir weir_options)
# The compression process, which the library finds in bin.
add_executable(weir-compressor ${PROJECT_SOURCE_DIR}/compression/process/weir_compressor.cc)
target_link_libraries(weir-compressor PRIVATE weir weir_options)

# What tests and benchmarks link: the library and, beside it, the rooms' own headers and libraries.
add_library(weir_internal INTERFACE)
target_link_libraries(weir_internal INTERFACE weir weir_options ${room_libraries})
add_dependencies(weir_internal weir-compressor)
