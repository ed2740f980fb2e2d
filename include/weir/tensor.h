#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

#include "weir/device.h"
#include "weir/dtype.h"

namespace weir {

/// Dimensions of a dense row-major tensor, held inline so that describing one allocates nothing.
/// Rank 0 is a scalar of one element; a dimension may be 0.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 8;

  Shape() = default;
  /// Throws InvalidArgument for more than kMaxRank dimensions, a negative one, or a product that
  /// does not fit in 63 bits.
  explicit Shape(std::span<const std::int64_t> dims);
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  std::span<const std::int64_t> dims() const { return {dims_.data(), rank_}; }
  /// Product of the dimensions, 1 for a scalar.
  std::int64_t elements() const { return elements_; }
  friend bool operator==(const Shape& a, const Shape& b) {
    return std::ranges::equal(a.dims(), b.dims());
  }
  /// "[3, 5]", "[]" for a scalar.
  std::string ToString() const;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
  std::int64_t elements_ = 1;
};

/// A dense, contiguous, row-major tensor that somebody else owns. Copying copies the description.
///
/// On a GPU, `data` is a device address and `stream` the cudaStream_t (null: the default stream) in
/// which the program works on the tensor. The GPU waits for everything in that stream at submission
/// before the engine reads or writes the tensor. The engine's own work is done when the handle is.
/// The stream must live until then.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;
  Device device{};
  void* stream = nullptr;

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * SizeOf(dtype); }
  std::span<std::byte> as_bytes() const { return {static_cast<std::byte*>(data), bytes()}; }
};

/// A read-only TensorView.
struct ConstTensorView {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;
  Device device{};
  void* stream = nullptr;

  ConstTensorView() = default;
  ConstTensorView(const void* d, DType t, Shape s, Device where = {}, void* in_stream = nullptr)
      : data(d), dtype(t), shape(s), device(where), stream(in_stream) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a view that may write can be read.
  ConstTensorView(const TensorView& v)
      : data(v.data), dtype(v.dtype), shape(v.shape), device(v.device), stream(v.stream) {}

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * SizeOf(dtype); }
  std::span<const std::byte> as_bytes() const {
    return {static_cast<const std::byte*>(data), bytes()};
  }
};

/// Returns memory for a result whose shape is known only once the ranks have agreed. `rows[r]` is
/// rank r's share, in rows of the first dimension; each operation says what it counts. It is valid
/// during the call. For an input on a GPU the memory must be on that GPU; the input's stream
/// counts as the one that works on it.
using AllocateOutput = std::function<void*(const Shape& shape, std::span<const std::int64_t> rows)>;

/// Number of rows of rank `rank` when `rows` are dealt out evenly over `size` ranks, in rank order:
/// the first rows % size ranks have one more.
constexpr std::int64_t RowsOfRank(std::int64_t rows, int rank, int size) {
  return rows / size + (rank < rows % size ? 1 : 0);
}

/// The DType of a C++ type. fp16 and bf16 have no C++ type; describe them by hand.
template <typename T>
constexpr DType DTypeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) {
    return DType::kFloat32;
  } else if constexpr (std::is_same_v<U, double>) {
    return DType::kFloat64;
  } else if constexpr (std::is_same_v<U, std::uint8_t>) {
    return DType::kUInt8;
  } else if constexpr (std::is_same_v<U, std::int8_t>) {
    return DType::kInt8;
  } else if constexpr (std::is_same_v<U, std::int16_t>) {
    return DType::kInt16;
  } else if constexpr (std::is_same_v<U, std::int32_t>) {
    return DType::kInt32;
  } else if constexpr (std::is_same_v<U, std::int64_t>) {
    return DType::kInt64;
  } else {
    static_assert(std::is_same_v<U, bool>, "no DType for this type");
    return DType::kBool;
  }
}

/// One-dimensional view of a span.
template <typename T>
TensorView ViewOf(std::span<T> values) {
  return {values.data(), DTypeOf<T>(), Shape{static_cast<std::int64_t>(values.size())}};
}
template <typename T>
ConstTensorView ViewOf(std::span<const T> values) {
  return {values.data(), DTypeOf<T>(), Shape{static_cast<std::int64_t>(values.size())}};
}

}  // namespace weir
