#include "ops/collectives/adasum.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/half_array.h"
#include "ops/collectives/binomial_tree.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Returns true if arrays of a type are combined in double.
bool InDouble(DType dtype) { return dtype == DType::kFloat64; }

template <typename T>
std::span<T> As(std::byte* data, std::int64_t elements) {
  return {reinterpret_cast<T*>(data), static_cast<std::size_t>(elements)};
}

template <typename T>
void CombineInto(std::span<T> a, std::span<const T> b) {
  double dot = 0.0;
  double a_squared = 0.0;
  double b_squared = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    dot += x * y;
    a_squared += x * x;
    b_squared += y * y;
  }
  const auto factor = [dot](double squared) {
    return static_cast<T>(squared == 0.0 ? 1.0 : 1.0 - dot / (2.0 * squared));
  };
  const T of_a = factor(a_squared);
  const T of_b = factor(b_squared);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = of_a * a[i] + of_b * b[i];
}

template <typename T>
void Scale(std::span<T> values, double factor) {
  if (factor == 1.0) return;
  for (T& value : values) value = static_cast<T>(static_cast<double>(value) * factor);
}

void LoadFloats(const Array& array, std::span<float> values) {
  if (array.dtype == DType::kFloat32) {
    std::copy_n(static_cast<const float*>(array.in), values.size(), values.begin());
    return;
  }
  const auto* halves = static_cast<const std::uint16_t*>(array.in);
  if (array.dtype == DType::kFloat16) {
    HalvesToFloats({halves, values.size()}, values);
  } else {
    BFloat16sToFloats({halves, values.size()}, values);
  }
}

void StoreFloats(std::span<const float> values, const Array& array) {
  if (array.dtype == DType::kFloat32) {
    std::ranges::copy(values, static_cast<float*>(array.out));
    return;
  }
  auto* halves = static_cast<std::uint16_t*>(array.out);
  if (array.dtype == DType::kFloat16) {
    FloatsToHalves(values, {halves, values.size()});
  } else {
    FloatsToBFloat16s(values, {halves, values.size()});
  }
}

}  // namespace

void CheckAdasum(DType dtype, const Reduction& factors) {
  if (!IsFloatingPoint(dtype)) {
    throw InvalidArgument("Adasum works on floating-point types, not on " +
                          std::string(Name(dtype)) + "; use sum or average");
  }
  CheckReduction(dtype, {ReduceOp::kSum, factors.prescale, factors.postscale});
}

Adasum::Adasum(Transport& transport) : transport_(transport), result_(transport) {}

void Adasum::Bind(std::span<const Array> arrays, const Reduction& factors) {
  for (const Array& array : arrays) CheckAdasum(array.dtype, factors);
  factors_ = factors;
  pieces_.clear();
  std::size_t bytes = 0;
  for (const Array& array : arrays) {
    // Each array begins aligned for every type.
    bytes = (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    pieces_.push_back({array, bytes});
    bytes += static_cast<std::size_t>(array.elements) *
             (InDouble(array.dtype) ? sizeof(double) : sizeof(float));
  }
  values_.resize(bytes);
  TreePosition position;
  FindTreePosition(transport_.rank(), transport_.size(), 0, position);
  parent_ = position.parent;
  children_.assign(position.children.rbegin(), position.children.rend());
  if (!children_.empty()) received_.resize(bytes);
}

void Adasum::Start(std::uint32_t operation) {
  operation_ = operation;
  next_child_ = 0;
  phase_ = Phase::kChildren;
  Load();
  if (!children_.empty()) from_child_.StartReceive(children_[0], operation_, received_, {});
}

void Adasum::Load() {
  for (const Piece& piece : pieces_) {
    std::byte* data = values_.data() + piece.offset;
    const Array& array = piece.array;
    if (InDouble(array.dtype)) {
      const auto values = As<double>(data, array.elements);
      std::copy_n(static_cast<const double*>(array.in), values.size(), values.begin());
      Scale(values, factors_.prescale);
    } else {
      const auto values = As<float>(data, array.elements);
      LoadFloats(array, values);
      Scale(values, factors_.prescale);
    }
  }
}

void Adasum::Combine() {
  for (const Piece& piece : pieces_) {
    std::byte* a = values_.data() + piece.offset;
    std::byte* b = received_.data() + piece.offset;
    const std::int64_t n = piece.array.elements;
    if (InDouble(piece.array.dtype)) {
      CombineInto<double>(As<double>(a, n), As<double>(b, n));
    } else {
      CombineInto<float>(As<float>(a, n), As<float>(b, n));
    }
  }
}

bool Adasum::PollChildren() {
  while (next_child_ < children_.size()) {
    if (!from_child_.Poll(transport_)) return false;
    Combine();
    if (++next_child_ == children_.size()) break;
    from_child_.StartReceive(children_[next_child_], operation_, received_, {});
  }
  return true;
}

bool Adasum::Poll() {
  if (phase_ == Phase::kChildren) {
    if (!PollChildren()) return false;
    if (parent_ >= 0) to_parent_.StartSend(parent_, operation_, values_, {});
    phase_ = Phase::kParent;
  }
  if (phase_ == Phase::kParent) {
    if (parent_ >= 0 && !to_parent_.Poll(transport_)) return false;
    result_.Bind(values_, 0);  // The result takes the place of the sent values.
    result_.Start(operation_);
    phase_ = Phase::kResult;
  }
  if (phase_ == Phase::kResult) {
    if (!result_.Poll()) return false;
    Store();
    phase_ = Phase::kDone;
  }
  return true;
}

void Adasum::Store() {
  for (const Piece& piece : pieces_) {
    const Array& array = piece.array;
    std::byte* data = values_.data() + piece.offset;
    if (InDouble(array.dtype)) {
      const auto values = As<double>(data, array.elements);
      Scale(values, factors_.postscale);
      std::ranges::copy(values, static_cast<double*>(array.out));
    } else {
      const auto values = As<float>(data, array.elements);
      Scale(values, factors_.postscale);
      StoreFloats(values, array);
    }
  }
}

void Adasum::Cancel() {
  from_child_.Cancel(transport_);
  to_parent_.Cancel(transport_);
  result_.Cancel();
}

}  // namespace weir
