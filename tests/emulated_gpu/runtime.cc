#include "tests/emulated_gpu/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "tests/emulated_gpu/memory.h"
#include "tests/emulated_gpu/streams.h"

namespace {

using namespace weir::emulated;  // NOLINT(google-build-using-namespace)

using Lock = std::scoped_lock<std::recursive_mutex>;

Event& EventOf(cudaEvent_t handle) { return *reinterpret_cast<Event*>(handle); }

constexpr std::size_t kMemory = std::size_t{1} << 30;

/// Allocations of all devices together, and their sizes.
std::map<void*, std::size_t>& Allocated() {
  static auto* const allocated = new std::map<void*, std::size_t>;
  return *allocated;
}

bool IsDevice(int device) { return device >= 0 && device < kDevices; }

}  // namespace

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    default:
      return "an error of the emulated GPU";
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!IsDevice(device)) return cudaErrorInvalidDevice;
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated GPU %d", device);
  properties->uuid.bytes[0] = static_cast<char>(device);
  properties->major = 8;
  properties->multiProcessorCount = 2;
  properties->totalGlobalMem = kMemory;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = CurrentDevice();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!IsDevice(device)) return cudaErrorInvalidDevice;
  CurrentDevice() = device;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  const Lock lock(TheMutex());
  *all = kMemory;
  *free = kMemory;
  for (const auto& [memory, bytes] : Allocated()) *free -= bytes;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  const Lock lock(TheMutex());
  *memory = AllocateMemory(bytes);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  Allocated().emplace(*memory, bytes);
  return cudaSuccess;
}

// As CUDA does, both wait for all that is under way.
cudaError_t cudaFree(void* memory) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  const Lock lock(TheMutex());
  RunAll();
  if (memory == nullptr) return cudaSuccess;
  Allocated().erase(memory);
  ReleaseMemory(memory);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  const Lock lock(TheMutex());
  RunAll();
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  *memory = std::calloc(bytes == 0 ? 1 : bytes, 1);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return Enqueue(stream, [=] {
    if (bytes > 0) std::memmove(to, from, bytes);
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t stream) {
  return Enqueue(stream, [=] {
    if (bytes > 0) std::memset(memory, byte, bytes);
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  const Lock lock(TheMutex());
  *stream = HandleOf(MakeStream());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(TheMutex());
  Destroy(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  const Lock lock(TheMutex());
  const std::shared_ptr<Stream> one = StreamOf(stream);
  if (one == nullptr) return cudaErrorInvalidResourceHandle;
  return one->done == one->given ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  const Lock lock(TheMutex());
  const std::shared_ptr<Stream> one = StreamOf(stream);
  if (one == nullptr) return cudaErrorInvalidResourceHandle;
  RunUntil(*one, one->given);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*call)(void*), void* data) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  const cudaError_t error = Enqueue(stream, [=] { call(data); });
  if (error == cudaSuccess) RunSoon(StreamOf(stream));
  return error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (Captures()) return cudaErrorStreamCaptureUnsupported;
  const Lock lock(TheMutex());
  const std::shared_ptr<Stream> waits = StreamOf(stream);
  if (waits == nullptr) return cudaErrorInvalidResourceHandle;
  const Event recorded = EventOf(event);
  if (recorded.stream == nullptr) return cudaSuccess;
  waits->queue.push_back([recorded] { RunUntil(*recorded.stream, recorded.at); });
  ++waits->given;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event{.device = CurrentDevice()});
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &EventOf(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(TheMutex());
  const std::shared_ptr<Stream> recorded = StreamOf(stream);
  if (recorded == nullptr || recorded->device != EventOf(event).device) {
    return cudaErrorInvalidResourceHandle;
  }
  EventOf(event).stream = recorded;
  EventOf(event).at = recorded->given;
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(TheMutex());
  const Event recorded = EventOf(event);
  if (recorded.stream != nullptr) RunUntil(*recorded.stream, recorded.at);
  return cudaSuccess;
}
