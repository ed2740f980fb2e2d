#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

/// What libweir_cuda.so does for the engine, as tables of functions, this one and those of other
/// rooms (compression/gpu/gpu_kernels.h): the engine itself links nothing of CUDA's, so one build
/// runs with and without a GPU. Thread-safe.
struct GpuApi {
  /// Of all tables: a library of another one is not used.
  static constexpr std::uint32_t kVersion = 7;
  std::uint32_t version = 0;

  /// GPUs that this process can use; 0 where there are none, and `trouble` says why.
  int (*count_devices)(std::string& trouble) = nullptr;
  /// For people: name, compute capability and memory of a device, from 0.
  std::string (*describe_device)(int device) = nullptr;
  /// No other device of any machine has this name.
  std::string (*identify_device)(int device) = nullptr;

  /// The calling thread's current device, on which it works with all that follows. Everything from
  /// here on throws std::runtime_error with what CUDA says.
  int (*current_device)() = nullptr;
  void (*make_current)(int device) = nullptr;

  /// Of the device's memory, what nobody has.
  std::size_t (*free_bytes)() = nullptr;
  void* (*allocate)(std::size_t bytes) = nullptr;
  void (*release)(void* memory) = nullptr;
  /// Of the host, which copies to and from the device need not wait for.
  void* (*allocate_pinned)(std::size_t bytes) = nullptr;
  void (*release_pinned)(void* memory) = nullptr;
  /// Makes all bytes of the device's memory 0; returns once it is done.
  void (*clear)(void* memory, std::size_t bytes) = nullptr;
  /// Between host and device, either way; returns once it is done.
  void (*copy)(void* to, const void* from, std::size_t bytes) = nullptr;

  /// Streams (cudaStream_t) go before those of programs, and wait for none.
  void* (*make_stream)() = nullptr;
  void (*release_stream)(void* stream) = nullptr;
  /// As `copy`, in its turn; what of the host is not pinned may be waited for.
  void (*copy_in)(void* to, const void* from, std::size_t bytes, void* stream) = nullptr;

  /// Throws if the GPU has failed.
  void (*check)(void* stream) = nullptr;
  /// Calls call(data), from a thread of CUDA's, once the stream has come so far. It uses nothing of
  /// this.
  void (*call_in)(void* stream, void (*call)(void*), void* data) = nullptr;

  /// Events (cudaEvent_t): places in the work of a stream.
  void* (*make_event)() = nullptr;
  void (*release_event)(void* event) = nullptr;
  void (*record)(void* event, void* stream) = nullptr;
  /// What is given to the stream from here on waits for what the event stands for now.
  void (*wait_in)(void* stream, void* event) = nullptr;
  /// Waits, asleep, for what the event stands for.
  void (*await)(void* event) = nullptr;

  /// What work(data) gives to the stream, as a graph (cudaGraphExec_t): nothing of it is done yet.
  /// Throws where it waits or allocates, and what it throws.
  void* (*capture)(void* stream, void (*work)(void*), void* data) = nullptr;
  void (*release_graph)(void* graph) = nullptr;
  /// Gives it to a stream, any number of times. What it copies from the host is what is there then.
  void (*launch)(void* graph, void* stream) = nullptr;
};

/// libweir_cuda.so, where there is one. Stays loaded for the life of the process.
class GpuLibrary {
 public:
  /// `path` empty: the one of the same installation as the library or program that this code is in.
  static GpuLibrary Load(const std::string& path = {});

  /// Null where there is none that can be used; trouble() then says what is missing.
  const GpuApi* api() const { return api_; }
  const std::string& trouble() const { return trouble_; }

  /// The function of this name, or null. Null too where there is no api().
  void* Find(const char* name) const;

 private:
  void* handle_ = nullptr;
  const GpuApi* api_ = nullptr;
  std::string trouble_;
};

/// What `weirrun --check-build` says of GPUs: those that there are, or what is missing.
struct GpuSupport {
  bool usable = false;
  std::string text;
};
GpuSupport FindGpuSupport(const GpuLibrary& library);
GpuSupport FindGpuSupport(const GpuApi& api);

}  // namespace weir
