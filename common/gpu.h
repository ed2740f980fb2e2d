#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/gpu_library.h"
#include "weir/device.h"
#include "weir/error.h"

/// GPUs as the engine uses them: whatever belongs to one, and is given back. All of it throws
/// std::runtime_error with what CUDA says.
namespace weir {

/// A GPU that can be used. Thread-safe.
class Gpu {
 public:
  /// `wake`: called, by a thread of CUDA's, when a GpuSignal was given; may be empty.
  Gpu(const GpuLibrary& library, int device, std::function<void()> wake = nullptr)
      : library_(library),
        device_(device),
        name_(library.api()->identify_device(device)),
        wake_(std::move(wake)) {}

  const GpuLibrary& library() const { return library_; }
  const GpuApi& api() const { return *library_.api(); }
  int device() const { return device_; }
  /// Of no other GPU of any machine (GpuApi::identify_device).
  const std::string& name() const { return name_; }
  void Wake() const {
    if (wake_) wake_();
  }

 private:
  const GpuLibrary& library_;
  const int device_;
  const std::string name_;  ///< Kept, as CUDA takes its time to tell.
  const std::function<void()> wake_;
};

/// Those of this process, found when one is first needed. Thread-safe.
class Gpus {
 public:
  /// `path` of libweir_cuda.so; empty: the one of this installation. `wake` as of each Gpu.
  Gpus(std::string path, std::function<void()> wake)
      : path_(std::move(path)), wake_(std::move(wake)) {}
  /// Lives as long as this. Throws InvalidArgument about `what`, which lies there, where there is
  /// no such GPU or no library.
  const Gpu& At(Device device, const std::string& what, const ErrorContext& where);

 private:
  const std::string path_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::optional<GpuLibrary> library_;
  std::map<int, std::unique_ptr<Gpu>> gpus_;
};

/// While one lives, the GPU is the calling thread's current device.
class GpuScope {
 public:
  explicit GpuScope(const Gpu& gpu);
  /// What was current before is so again, but on the engine's own threads: they had chosen nothing,
  /// and CUDA's default, GPU 0, would be given a context by it.
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

  /// The calling thread is the engine's own.
  static void OwnThisThread();

 private:
  const Gpu& gpu_;
  const int before_;
};

/// Calls release(api) on the GPU. What cannot be given back, as the GPU has failed, has told its
/// error before.
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
