#pragma once

#include <cstddef>

/// The functions of CUDA's runtime that libweir_cuda.so calls
/// (tests/emulated_gpu/streams.h, memory.h), for three GPUs.

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorStreamCaptureUnsupported = 900,
};
const char* cudaGetErrorString(cudaError_t error);
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

#define CUDART_VERSION 13000
inline constexpr unsigned cudaEventDisableTiming = 2;
inline constexpr unsigned cudaEventBlockingSync = 1;
inline constexpr unsigned cudaStreamNonBlocking = 1;

namespace weir::emulated {
inline constexpr int kDevices = 3;
}

struct CUstream_st;
using cudaStream_t = CUstream_st*;
struct CUevent_st;
using cudaEvent_t = CUevent_st*;
struct CUgraph_st;
using cudaGraph_t = CUgraph_st*;
struct CUgraphExec_st;
using cudaGraphExec_t = CUgraphExec_st*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };

struct dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};
struct cudaUUID_t {
  char bytes[16];
};
struct cudaDeviceProp {
  cudaUUID_t uuid;
  char name[256];
  int major;
  int minor;
  int multiProcessorCount;
  std::size_t totalGlobalMem;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);

/// Calls that wait or allocate, or ask about a captured stream, fail while its thread captures.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);

struct cudaFuncAttributes {
  int maxThreadsPerBlock;
};
/// Loads nothing: all kernels exist from the beginning.
template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, void (*)(Parameters...)) {
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t stream);

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
/// Returns cudaSuccess or cudaErrorNotReady; does no work.
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
/// Makes another thread do all work before it soon, because somebody waits for the call.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*call)(void*), void* data);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
