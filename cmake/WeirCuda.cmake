# libweir_cuda.so: the kernels, which the engine loads at run time (common/gpu/gpu_library.h). Without nvcc
# there is none, which is no error.

# What it is made of; tests compile the same for the CPU (tests/emulated_gpu/).
set(WEIR_CUDA_SOURCES
  compression/cuda/cast.cu
  compression/cuda/codecs/codec_bucket.cu
  compression/cuda/codecs/codec_cast.cu
  compression/cuda/codecs/codec_int8.cu
  compression/cuda/codecs/codec_levels.cu
  compression/cuda/codecs/codec_onebit.cu
  compression/cuda/codecs/codec_randomk.cu
  compression/cuda/codecs/codec_topk.cu
  compression/cuda/dense_momentum.cu
  compression/cuda/sparse/dgc_accumulate.cu
  compression/cuda/sparse/dgc_bucket.cu
  compression/cuda/codecs/level_merge.cu
  compression/cuda/codecs/level_scale.cu
  compression/cuda/codecs/level_tiles.cu
  compression/cuda/library.cu
  compression/cuda/mean_momentum.cu
  compression/cuda/norms.cu
  compression/cuda/packing.cu
  compression/cuda/codecs/random_draw.cu
  compression/cuda/sparse/sparse_bucket.cu
  compression/cuda/sparse/sparse_merge.cu
  compression/cuda/sparse/sparse_select.cu
  compression/cuda/sparse/sparse_write.cu)
list(TRANSFORM WEIR_CUDA_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
if(NOT WEIR_CUDA)
  return()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "No nvcc: libweir_cuda.so is not built")
  return()
endif()
find_package(CUDAToolkit 12.4 REQUIRED)
# Native code for what people have, and PTX for what comes.
set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real)
if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
  list(APPEND CMAKE_CUDA_ARCHITECTURES 100-real 100-virtual)
else()
  list(APPEND CMAKE_CUDA_ARCHITECTURES 90-virtual)
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know that nvcc has it.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

add_library(weir_cuda SHARED ${WEIR_CUDA_SOURCES})
target_include_directories(weir_cuda PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# The bits of the CPU: no implicit fused multiply-add, on the device either, and the same constexpr
# functions.
target_compile_options(weir_cuda PRIVATE --fmad=false --expt-relaxed-constexpr
                       -Xcompiler=-ffp-contract=off,-Wall,-Wextra)
# A third of the size. Drivers of before CUDA 12.4 could not read it; those of CUDA 13 can.
if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(weir_cuda PRIVATE --compress-mode=size)
endif()
if(WEIR_WERROR)
  target_compile_options(weir_cuda PRIVATE -Werror=all-warnings)
endif()
# The driver is all that it takes where it runs.
set_target_properties(weir_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static
                      CUDA_VISIBILITY_PRESET default)
include(GNUInstallDirs)
if(NOT SKBUILD)
  install(TARGETS weir_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
