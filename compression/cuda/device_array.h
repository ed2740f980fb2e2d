#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <utility>

#include "compression/cuda/launch.h"

namespace weir::cuda {

/// Memory of the GPU for `size` values, not initialised.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    Check(cudaMalloc(&memory, size * sizeof(T)));
    data_ = static_cast<T*>(memory);
  }
  ~DeviceArray() {
    if (data_ != nullptr) cudaFree(static_cast<void*>(data_));  // Null would make a context.
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Makes all bytes 0, in the stream.
  void Clear(cudaStream_t stream) {
    if (size_ > 0) Check(cudaMemsetAsync(data_, 0, size_ * sizeof(T), stream));
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Values that one side writes and the other reads, step by step. The host's are in pinned memory,
/// so that copying waits for nothing.
template <typename T>
class SharedArray {
 public:
  SharedArray() = default;
  explicit SharedArray(std::size_t size) : device_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    Check(cudaMallocHost(&memory, size * sizeof(T)));
    host_ = static_cast<T*>(memory);
  }
  ~SharedArray() {
    if (host_ != nullptr) cudaFreeHost(static_cast<void*>(host_));
  }
  SharedArray(SharedArray&& other) noexcept
      : host_(std::exchange(other.host_, nullptr)), device_(std::move(other.device_)) {}
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(host_, other.host_);
    device_ = std::move(other.device_);
    return *this;
  }

  std::span<T> host() { return {host_, device_.size()}; }
  std::span<const T> host() const { return {host_, device_.size()}; }
  std::size_t size() const { return device_.size(); }
  T* device() const { return device_.data(); }

  /// Copies host() to the device; it may be written again once the stream has come past this.
  void Upload(cudaStream_t stream) {
    if (device_.size() == 0) return;
    Check(cudaMemcpyAsync(static_cast<void*>(device_.data()), static_cast<const void*>(host_),
                          device_.size() * sizeof(T), cudaMemcpyDefault, stream));
  }
  /// Copies to host(), which is valid once the stream has come past this.
  void Download(cudaStream_t stream) {
    if (device_.size() == 0) return;
    Check(cudaMemcpyAsync(static_cast<void*>(host_), static_cast<const void*>(device_.data()),
                          device_.size() * sizeof(T), cudaMemcpyDefault, stream));
  }
  /// Sets all bytes of the device's side to 0, in the stream.
  void Clear(cudaStream_t stream) { device_.Clear(stream); }

 private:
  T* host_ = nullptr;
  DeviceArray<T> device_;
};

}  // namespace weir::cuda
