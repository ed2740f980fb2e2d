#pragma once

#include <cstddef>
#include <vector>

#include "common/gpu/gpu_library.h"

namespace weir {

/// An array in the memory of the GPU.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(const GpuApi& api, std::size_t n) : api_(api), n_(n) {
    data_ = static_cast<T*>(api.allocate(n * sizeof(T)));
  }
  DeviceArray(const GpuApi& api, const std::vector<T>& values) : DeviceArray(api, values.size()) {
    Set(values);
  }
  ~DeviceArray() { api_.release(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  void Set(const std::vector<T>& values) { api_.copy(data_, values.data(), n_ * sizeof(T)); }
  /// Reads the values after work in the default stream is done.
  std::vector<T> Values() const {
    std::vector<T> values(n_);
    api_.copy(values.data(), data_, n_ * sizeof(T));
    return values;
  }

 private:
  const GpuApi& api_;
  std::size_t n_;
  T* data_ = nullptr;
};

}  // namespace weir
