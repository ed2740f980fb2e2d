#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/gpu_library.h"

namespace weir {

/// Throws what a call of the GPU's library has to say.
inline void Succeed(const std::string& trouble) {
  if (!trouble.empty()) throw std::runtime_error(trouble);
}

/// An array in the memory of the GPU.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(const GpuApi& api, std::size_t n) : api_(api), n_(n) {
    void* memory = nullptr;
    Succeed(api.allocate(n * sizeof(T), memory));
    data_ = static_cast<T*>(memory);
  }
  DeviceArray(const GpuApi& api, const std::vector<T>& values) : DeviceArray(api, values.size()) {
    Succeed(api.copy(data_, values.data(), n_ * sizeof(T)));
  }
  ~DeviceArray() { api_.release(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  /// After what works on it in the default stream.
  std::vector<T> Values() const {
    std::vector<T> values(n_);
    Succeed(api_.copy(values.data(), data_, n_ * sizeof(T)));
    return values;
  }

 private:
  const GpuApi& api_;
  std::size_t n_;
  T* data_ = nullptr;
};

}  // namespace weir
