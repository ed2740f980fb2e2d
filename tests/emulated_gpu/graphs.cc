#include <utility>
#include <vector>

#include "tests/emulated_gpu/runtime.h"
#include "tests/emulated_gpu/streams.h"

// Graphs: work that was given to a stream, to be given again.
using namespace weir::emulated;  // NOLINT(google-build-using-namespace)

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  const std::scoped_lock lock(TheMutex());
  const std::shared_ptr<Stream> stream = StreamOf(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  // The default stream may not be captured.
  if (handle == nullptr || stream->captured) return cudaErrorStreamCaptureUnsupported;
  stream->captured = std::make_unique<std::vector<Work>>();
  Captures() = true;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const std::scoped_lock lock(TheMutex());
  const std::shared_ptr<Stream> stream = StreamOf(handle);
  if (stream == nullptr || !stream->captured) return cudaErrorInvalidValue;
  *graph = new CUgraph_st{std::move(*stream->captured)};
  stream->captured.reset();
  Captures() = false;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  for (const Work& work : exec->work) {
    const cudaError_t error = Enqueue(stream, work);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
