#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace weir {

/// `n` floats, zero at first, that live as long as a compressor. Aligned to cache lines; large
/// buffers use huge pages where the system grants them (5-10 % faster to stream through). Pages
/// take memory when they are first touched.
class StateBuffer {
 public:
  /// Throws std::bad_alloc.
  explicit StateBuffer(std::size_t n);

  std::span<float> values() { return {data_.get(), n_}; }
  std::span<const float> values() const { return {data_.get(), n_}; }

 private:
  struct Free {
    std::size_t mapped;  ///< Mapped bytes; 0: it was allocated.
    void operator()(float* data) const;
  };
  std::size_t n_;
  std::unique_ptr<float[], Free> data_{nullptr, Free{0}};
};

}  // namespace weir
