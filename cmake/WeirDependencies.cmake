# Everything that comes from outside, found in one place.

find_package(Threads REQUIRED)
# FindMPI looks for mpiexec everywhere but next to the compiler that it was given.
if(MPI_CXX_COMPILER)
  get_filename_component(mpi_programs ${MPI_CXX_COMPILER} DIRECTORY)
  find_program(MPIEXEC_EXECUTABLE mpiexec HINTS ${mpi_programs} NO_DEFAULT_PATH)
endif()
find_package(MPI 3.1 REQUIRED COMPONENTS CXX)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(yaml-cpp REQUIRED)  # weirrun only: its config file.
find_package(ZLIB REQUIRED)  # Checksums of run logs.
find_path(UCX_INCLUDE_DIR ucp/api/ucp.h REQUIRED DOC "Headers of UCX 1.13 or newer; its library is found at run time")
include_directories(SYSTEM ${UCX_INCLUDE_DIR})
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(libmicrohttpd REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.75)
pkg_check_modules(gnutls REQUIRED gnutls)
pkg_check_modules(nettle REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
if(WEIR_BUILD_MONITOR)
  find_package(Qt6 6.2 REQUIRED COMPONENTS Network Widgets)
  if(WEIR_BUILD_TESTS)
    find_package(Qt6 REQUIRED COMPONENTS Test)
    # It would compile the names of two folders into each test, which the cache of compiled files would then not
    # know in another clone.
    get_target_property(definitions Qt6::Test INTERFACE_COMPILE_DEFINITIONS)
    list(FILTER definitions EXCLUDE REGEX QT_TESTCASE_)
    set_target_properties(Qt6::Test PROPERTIES INTERFACE_COMPILE_DEFINITIONS "${definitions}")
  endif()
endif()
if(WEIR_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(OpenSSL 3 REQUIRED)  # Reads what the metrics' server encrypts.
endif()
