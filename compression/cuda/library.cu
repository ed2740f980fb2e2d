// The entries of libweir_cuda.so (common/gpu/gpu_library.h, compression/gpu/gpu_kernels.h).
#include <cstdio>
#include <string>

#include "common/gpu/gpu_library.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"
#include "compression/gpu/gpu_kernels.h"

namespace weir::cuda {
namespace {

/// Writes CUDA's 13000 as "13.0".
std::string Version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

int CountDevices(std::string& trouble) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    trouble = "there is a driver, and no GPU that this process may use (CUDA_VISIBLE_DEVICES?)";
  } else if (error == cudaErrorInsufficientDriver) {
    int driver = 0;
    trouble = cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0
                  ? "there is no NVIDIA driver"
                  : "the NVIDIA driver is one for CUDA " + Version(driver) +
                        ", and this was built with CUDA " + Version(CUDART_VERSION);
  } else {
    trouble = std::string("CUDA says: ") + cudaGetErrorString(error);
  }
  return 0;
}

std::string DescribeDevice(int device) {
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, device));
  char text[384];
  std::snprintf(text, sizeof text, "%s, compute capability %d.%d, %.1f GiB", properties.name,
                properties.major, properties.minor,
                static_cast<double>(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0));
  return text;
}

std::string IdentifyDevice(int device) {
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, device));
  std::string text = "GPU-";
  for (const char byte : properties.uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

int CurrentDevice() {
  int device = 0;
  Check(cudaGetDevice(&device));
  return device;
}

void MakeCurrent(int device) { Check(cudaSetDevice(device)); }

std::size_t FreeBytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  Check(cudaMemGetInfo(&free, &all));
  return free;
}

void* Allocate(std::size_t bytes) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, bytes));
  return memory;
}

void Release(void* memory) { Check(cudaFree(memory)); }

void* AllocatePinned(std::size_t bytes) {
  void* memory = nullptr;
  Check(cudaMallocHost(&memory, bytes));
  return memory;
}

void ReleasePinned(void* memory) { Check(cudaFreeHost(memory)); }

void Clear(void* memory, std::size_t bytes) {
  Check(cudaMemsetAsync(memory, 0, bytes, nullptr));
  Check(cudaStreamSynchronize(nullptr));
}

void Copy(void* to, const void* from, std::size_t bytes) {
  Check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  Check(cudaStreamSynchronize(nullptr));  // A copy from pageable memory may still be on its way.
}

cudaStream_t StreamOf(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t EventOf(void* event) { return static_cast<cudaEvent_t>(event); }

void* MakeStream() {
  int least = 0;
  int greatest = 0;
  Check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  return stream;
}

void ReleaseStream(void* stream) { Check(cudaStreamDestroy(StreamOf(stream))); }

void CopyIn(void* to, const void* from, std::size_t bytes, void* stream) {
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, StreamOf(stream)));
}

void CheckStream(void* stream) {
  const cudaError_t state = cudaStreamQuery(StreamOf(stream));
  if (state != cudaErrorNotReady) Check(state);
}

void CallIn(void* stream, void (*call)(void*), void* data) {
  Check(cudaLaunchHostFunc(StreamOf(stream), call, data));
}

// A thread that waits sleeps: there are more of them than cores.
void* MakeEvent() {
  cudaEvent_t event = nullptr;
  Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
  return event;
}

void ReleaseEvent(void* event) { Check(cudaEventDestroy(EventOf(event))); }

void Record(void* event, void* stream) { Check(cudaEventRecord(EventOf(event), StreamOf(stream))); }

void WaitIn(void* stream, void* event) {
  Check(cudaStreamWaitEvent(StreamOf(stream), EventOf(event)));
}

void Await(void* event) { Check(cudaEventSynchronize(EventOf(event))); }

cudaGraphExec_t GraphOf(void* graph) { return static_cast<cudaGraphExec_t>(graph); }

void* Capture(void* stream, void (*work)(void*), void* data) {
  // Work of other threads, which wait and allocate as they like, is not captured.
  Check(cudaStreamBeginCapture(StreamOf(stream), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t captured = nullptr;
  try {
    work(data);
  } catch (...) {
    cudaStreamEndCapture(StreamOf(stream), &captured);
    cudaGetLastError();  // The exception that was thrown says it.
    if (captured != nullptr) cudaGraphDestroy(captured);
    throw;
  }
  Check(cudaStreamEndCapture(StreamOf(stream), &captured));
  cudaGraphExec_t graph = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&graph, captured, 0);
  cudaGraphDestroy(captured);
  Check(made);
  return graph;
}

void ReleaseGraph(void* graph) { Check(cudaGraphExecDestroy(GraphOf(graph))); }

void LaunchGraph(void* graph, void* stream) {
  Check(cudaGraphLaunch(GraphOf(graph), StreamOf(stream)));
}

constexpr GpuApi kApi{.version = GpuApi::kVersion,
                      .count_devices = CountDevices,
                      .describe_device = DescribeDevice,
                      .identify_device = IdentifyDevice,
                      .current_device = CurrentDevice,
                      .make_current = MakeCurrent,
                      .free_bytes = FreeBytes,
                      .allocate = Allocate,
                      .release = Release,
                      .allocate_pinned = AllocatePinned,
                      .release_pinned = ReleasePinned,
                      .clear = Clear,
                      .copy = Copy,
                      .make_stream = MakeStream,
                      .release_stream = ReleaseStream,
                      .copy_in = CopyIn,
                      .check = CheckStream,
                      .call_in = CallIn,
                      .make_event = MakeEvent,
                      .release_event = ReleaseEvent,
                      .record = Record,
                      .wait_in = WaitIn,
                      .await = Await,
                      .capture = Capture,
                      .release_graph = ReleaseGraph,
                      .launch = LaunchGraph};
constexpr GpuKernels kKernels{.to_half = ToHalf,
                              .from_half = FromHalf,
                              .make_norms = MakeNorms,
                              .make_packing = MakePacking,
                              .make_dgc = MakeDgc,
                              .make_dense_momentum = MakeDenseMomentum,
                              .make_codecs = MakeCodecs};

}  // namespace
}  // namespace weir::cuda

extern "C" const weir::GpuApi* weir_gpu_api() { return &weir::cuda::kApi; }
extern "C" const weir::GpuKernels* weir_gpu_kernels() { return &weir::cuda::kKernels; }
