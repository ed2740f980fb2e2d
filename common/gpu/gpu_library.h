#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

/// Work that libweir_cuda.so does for the engine, as tables of functions: this one and those of
/// other rooms (compression/gpu/gpu_kernels.h). The engine itself does not link CUDA, so one build
/// runs with and without a GPU. Thread-safe.
struct GpuApi {
  /// Version of all tables. A library with another one is not used.
  static constexpr std::uint32_t kVersion = 7;
  std::uint32_t version = 0;

  /// Number of GPUs that this process can use; 0 where there are none, and `trouble` says why.
  int (*count_devices)(std::string& trouble) = nullptr;
  /// For people: name, compute capability and memory of a device, from 0.
  std::string (*describe_device)(int device) = nullptr;
  /// Name of a device, unique over all machines.
  std::string (*identify_device)(int device) = nullptr;

  /// Current device of the calling thread, used by all functions below. They and this one throw
  /// std::runtime_error with CUDA's message.
  int (*current_device)() = nullptr;
  void (*make_current)(int device) = nullptr;

  /// Free bytes of the device's memory.
  std::size_t (*free_bytes)() = nullptr;
  void* (*allocate)(std::size_t bytes) = nullptr;
  void (*release)(void* memory) = nullptr;
  /// Allocates memory of the host. Copies between it and the device need not be waited for.
  void* (*allocate_pinned)(std::size_t bytes) = nullptr;
  void (*release_pinned)(void* memory) = nullptr;
  /// Sets all bytes of the device's memory to 0; returns once that is done.
  void (*clear)(void* memory, std::size_t bytes) = nullptr;
  /// Copies between host and device, either way; returns once that is done.
  void (*copy)(void* to, const void* from, std::size_t bytes) = nullptr;

  /// Streams (cudaStream_t) that run before the program's and wait for none.
  void* (*make_stream)() = nullptr;
  void (*release_stream)(void* stream) = nullptr;
  /// As `copy`, but queued in the stream. May block where the host's memory is not pinned.
  void (*copy_in)(void* to, const void* from, std::size_t bytes, void* stream) = nullptr;

  /// Throws if the GPU has failed.
  void (*check)(void* stream) = nullptr;
  /// Makes a thread of CUDA's call call(data) once the stream has come so far. The callback must
  /// not use any of these functions.
  void (*call_in)(void* stream, void (*call)(void*), void* data) = nullptr;

  /// Events (cudaEvent_t): places in the work of a stream.
  void* (*make_event)() = nullptr;
  void (*release_event)(void* event) = nullptr;
  void (*record)(void* event, void* stream) = nullptr;
  /// Makes later work in the stream wait for the current place of the event.
  void (*wait_in)(void* stream, void* event) = nullptr;
  /// Waits, asleep, until the event has happened.
  void (*await)(void* event) = nullptr;

  /// Records the work that work(data) gives to the stream as a graph (cudaGraphExec_t), without
  /// doing it. Throws where `work` waits or allocates; rethrows its exceptions.
  void* (*capture)(void* stream, void (*work)(void*), void* data) = nullptr;
  void (*release_graph)(void* graph) = nullptr;
  /// Gives a graph to a stream, any number of times. Copies from the host read what is there then.
  void (*launch)(void* graph, void* stream) = nullptr;
};

/// libweir_cuda.so, where there is one. Stays loaded for the life of the process.
class GpuLibrary {
 public:
  /// `path` empty: the library beside this code, in the same installation.
  static GpuLibrary Load(const std::string& path = {});

  /// Null where no library can be used; trouble() then says what is missing.
  const GpuApi* api() const { return api_; }
  const std::string& trouble() const { return trouble_; }

  /// Returns the function of this name, or null. Also null where there is no api().
  void* Find(const char* name) const;

 private:
  void* handle_ = nullptr;
  const GpuApi* api_ = nullptr;
  std::string trouble_;
};

/// GPU part of `weirrun --check-build`: the GPUs that exist, or what is missing.
struct GpuSupport {
  bool usable = false;
  std::string text;
};
GpuSupport FindGpuSupport(const GpuLibrary& library);
GpuSupport FindGpuSupport(const GpuApi& api);

}  // namespace weir
