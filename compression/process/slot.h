#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/process/shared_memory.h"
#include "compression/tensor_compression.h"

namespace weir {

/// Memory of one tensor that the program and its compression process share: the gradient, the
/// payload, and images of the compressor's memory. Each part belongs to one of the two at a time; a
/// message hands it over.
class Slot {
 public:
  struct Size {
    std::uint64_t elements = 0;
    std::uint64_t payload_bytes = 0;
    std::uint64_t state_floats = 0;
  };
  /// One that holds, one that is being written, and one that may be marked.
  static constexpr std::size_t kImages = 3;

  /// What has become of the gradient.
  enum class State : std::uint32_t {
    kFree,        ///< It is in the last image, or nowhere.
    kFilled,      ///< It waits to be compressed.
    kCompressed,  ///< The payload is there.
    kSent,        ///< All that led to the payload is to become an image.
  };

  explicit Slot(const Size& size) : memory_(BytesOf(size)), size_(size) {}
  Slot(UniqueFd fd, const Size& size) : memory_(std::move(fd), BytesOf(size)), size_(size) {}

  int fd() const { return memory_.fd(); }
  void CloseFd() { memory_.Close(); }
  const Size& size() const { return size_; }
  std::atomic<State>& state() const { return header().state; }

  std::span<float> gradient() const { return Floats(kHeaderBytes, size_.elements); }
  std::span<std::byte> payload() const {
    return memory_.bytes().subspan(kHeaderBytes + Rounded(size_.elements * sizeof(float)),
                                   size_.payload_bytes);
  }
  std::span<float> image(std::size_t index) const {
    return Floats(ImagesAt(size_) + index * Rounded(size_.state_floats * sizeof(float)),
                  size_.state_floats);
  }

 private:
  struct Header {
    std::atomic<State> state;
  };
  static_assert(std::atomic<State>::is_always_lock_free);

  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kHeaderBytes = kPage;
  static std::size_t Rounded(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
  static std::size_t ImagesAt(const Size& size) {
    return kHeaderBytes + Rounded(size.elements * sizeof(float)) + Rounded(size.payload_bytes);
  }
  static std::size_t BytesOf(const Size& size) {
    return ImagesAt(size) + kImages * Rounded(size.state_floats * sizeof(float));
  }
  /// New memory is zero: the slot is free.
  Header& header() const { return *reinterpret_cast<Header*>(memory_.bytes().data()); }
  std::span<float> Floats(std::size_t at, std::size_t count) const {
    return {reinterpret_cast<float*>(memory_.bytes().data() + at), count};
  }

  SharedMemory memory_;
  Size size_;
};

/// Number of floats that a compressor's State has.
std::size_t StateFloats(TensorCompression& compressor);
/// Copies a compressor's State to an image of it, and back.
void WriteImage(TensorCompression& compressor, std::span<float> image);
void ReadImage(std::span<const float> image, TensorCompression& compressor);

}  // namespace weir
