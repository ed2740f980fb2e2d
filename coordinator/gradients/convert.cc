#include "coordinator/gradients/convert.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "common/half.h"
#include "weir/error.h"

namespace weir {
namespace {

[[noreturn]] void Refuse(DType dtype) {
  throw InvalidArgument("gradients must be floating point, not " + std::string(Name(dtype)));
}

template <typename T, typename Convert>
void Read(const void* data, std::span<float> values, Convert convert) {
  const T* source = static_cast<const T*>(data);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert(source[i]);
}

template <typename T, typename Convert>
void Write(std::span<const float> values, void* data, Convert convert) {
  T* target = static_cast<T*>(data);
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = convert(values[i]);
}

}  // namespace

void ConvertToFloat(const void* data, DType dtype, std::span<float> values) {
  switch (dtype) {
    case DType::kFloat32:
      std::memcpy(values.data(), data, values.size_bytes());
      return;
    case DType::kFloat64:
      return Read<double>(data, values, [](double x) { return static_cast<float>(x); });
    case DType::kFloat16:
      return Read<std::uint16_t>(data, values, HalfToFloat);
    case DType::kBFloat16:
      return Read<std::uint16_t>(data, values, BFloat16ToFloat);
    default:
      Refuse(dtype);
  }
}

void ConvertFromFloat(std::span<const float> values, DType dtype, void* data) {
  switch (dtype) {
    case DType::kFloat32:
      std::memcpy(data, values.data(), values.size_bytes());
      return;
    case DType::kFloat64:
      return Write<double>(values, data, [](float x) { return static_cast<double>(x); });
    case DType::kFloat16:
      return Write<std::uint16_t>(values, data, FloatToHalf);
    case DType::kBFloat16:
      return Write<std::uint16_t>(values, data, FloatToBFloat16);
    default:
      Refuse(dtype);
  }
}

}  // namespace weir
