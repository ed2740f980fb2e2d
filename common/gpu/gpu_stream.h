#pragma once

#include <atomic>
#include <cstddef>

#include "common/gpu/gpu.h"

namespace weir {

/// A place in the work of a stream. Not thread-safe.
class GpuEvent {
 public:
  explicit GpuEvent(const Gpu& gpu);
  ~GpuEvent();
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  /// Marks the end of all work that the stream, one of this GPU's, holds now.
  void Record(void* stream);
  /// Waits, asleep, until that work is done.
  void Await() const;
  void* handle() const { return event_; }

 private:
  const Gpu& gpu_;
  void* const event_;
};

/// A queue of work beside the program's. Not thread-safe.
class GpuStream {
 public:
  explicit GpuStream(const Gpu& gpu);
  ~GpuStream();
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  void* handle() const { return stream_; }
  const Gpu& gpu() const { return gpu_; }
  /// Makes later work wait for the event's work.
  void WaitFor(const GpuEvent& event);
  /// Copies between host and device, either way, or on the device.
  void Copy(void* to, const void* from, std::size_t bytes);
  /// Waits, asleep, until all work given so far is done.
  void Await();
  /// Throws CUDA's error if the GPU has failed; does not wait.
  void Check() const;

 private:
  const Gpu& gpu_;
  void* const stream_;
  GpuEvent end_;
};

/// Tells, without waiting, whether a stream has come so far, and calls Gpu::Wake when it has. Given
/// for one place at a time. Must live until that place is reached, so wait for its stream.
class GpuSignal {
 public:
  /// Signals once all work that the stream holds now is done.
  void Give(GpuStream& stream);
  /// Thread-safe.
  bool reached() const { return reached_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> reached_ = false;
  const Gpu* gpu_ = nullptr;
};

}  // namespace weir
