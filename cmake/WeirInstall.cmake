# Installs libweir, its public headers, weirrun and the package files for find_package(weir).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A wheel has its own layout: plugins/python/CMakeLists.txt.
if(SKBUILD)
  return()
endif()

# MPI lies where it was found (a virtual environment, perhaps): the library remembers that place.
set_target_properties(weir PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS weir EXPORT weirTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH from_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(weirrun weir-server weir-compressor PROPERTIES
                      INSTALL_RPATH_USE_LINK_PATH ON
                      INSTALL_RPATH "$ORIGIN/${from_bin_to_lib}")
install(TARGETS weirrun weir-server weir-compressor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(WEIR_BUILD_MONITOR)
  install(TARGETS weir-monitor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
