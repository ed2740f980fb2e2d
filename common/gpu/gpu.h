#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/gpu/gpu_library.h"
#include "weir/device.h"
#include "weir/error.h"

/// GPUs as the engine uses them: resources that belong to one and are given back to it. All calls
/// throw std::runtime_error with CUDA's message.
namespace weir {

/// A GPU that can be used. Thread-safe.
class Gpu {
 public:
  /// `wake` is called by one of CUDA's threads when a GpuSignal was given; may be empty.
  Gpu(const GpuLibrary& library, int device, std::function<void()> wake = nullptr)
      : library_(library),
        device_(device),
        name_(library.api()->identify_device(device)),
        wake_(std::move(wake)) {}

  const GpuLibrary& library() const { return library_; }
  const GpuApi& api() const { return *library_.api(); }
  int device() const { return device_; }
  /// Name of the GPU, unique over all machines (GpuApi::identify_device).
  const std::string& name() const { return name_; }
  void Wake() const {
    if (wake_) wake_();
  }

 private:
  const GpuLibrary& library_;
  const int device_;
  const std::string name_;  ///< Kept, because CUDA is slow to tell it.
  const std::function<void()> wake_;
};

/// The GPUs of this process, each found when first needed. Thread-safe.
class Gpus {
 public:
  /// `path` is libweir_cuda.so's; empty: this installation's. `wake` goes to each Gpu.
  Gpus(std::string path, std::function<void()> wake)
      : path_(std::move(path)), wake_(std::move(wake)) {}
  /// The result lives as long as this object. Throws InvalidArgument about `what`, which lies on
  /// the device, when there is no such GPU or no library.
  const Gpu& At(Device device, const std::string& what, const ErrorContext& where);

 private:
  const std::string path_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::optional<GpuLibrary> library_;
  std::map<int, std::unique_ptr<Gpu>> gpus_;
};

/// Makes the GPU the calling thread's current device for the life of this object.
class GpuScope {
 public:
  explicit GpuScope(const Gpu& gpu);
  /// Restores the device that was current before, except on the engine's own threads. Those had
  /// chosen none, and restoring CUDA's default would create a context on GPU 0.
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

  /// Marks the calling thread as the engine's own.
  static void OwnThisThread();

 private:
  const Gpu& gpu_;
  const int before_;
};

/// Calls release(api) on the GPU. Errors are ignored: the GPU has failed, and
/// its error was reported before.
template <typename Release>
void GiveBack(const Gpu& gpu, const Release& release) {
  try {
    const GpuScope scope(gpu);
    release(gpu.api());
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace weir
