#pragma once

#include <atomic>
#include <cstddef>

#include "common/gpu.h"

namespace weir {

/// A place in the work of a stream. Not thread-safe.
class GpuEvent {
 public:
  explicit GpuEvent(const Gpu& gpu);
  ~GpuEvent();
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  /// Stands for all that the stream, this GPU's, holds now.
  void Record(void* stream);
  /// Waits, asleep, until that is done.
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
  /// What is given from here on waits for what the event stands for.
  void WaitFor(const GpuEvent& event);
  /// Between host and device, either way.
  void Copy(void* to, const void* from, std::size_t bytes);
  /// Waits, asleep, until all is done that was given.
  void Await();
  /// Throws what CUDA says if the GPU has failed; waits for nothing.
  void Check() const;

 private:
  const Gpu& gpu_;
  void* const stream_;
  GpuEvent end_;
};

/// Tells, without waiting, whether a stream has come so far, and wakes who asks (Gpu::Wake). Given
/// for one place at a time. Lives until that is reached: its stream must have been awaited.
class GpuSignal {
 public:
  /// Reached once all is done that the stream holds now.
  void Give(GpuStream& stream);
  /// Thread-safe.
  bool reached() const { return reached_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> reached_ = false;
  const Gpu* gpu_ = nullptr;
};

}  // namespace weir
