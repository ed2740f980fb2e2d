#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// Coding of the values of a part (docs/wire-format.md, "Values"): whole, or in so few bits that
/// the sender has to keep the loss.
enum class ValueType : std::uint8_t { kFloat16 = 0, kFloat32 = 1, kInt8 = 2, kInt4 = 3, kInt2 = 4 };

/// Names by number; these are the words of the option "values".
inline constexpr std::array<std::string_view, 5> kValueTypeNames = {"fp16", "fp32", "int8", "int4",
                                                                    "int2"};
constexpr std::string_view Name(ValueType type) {
  return kValueTypeNames[static_cast<std::size_t>(type)];
}

constexpr bool IsLowBit(ValueType type) {
  return type != ValueType::kFloat16 && type != ValueType::kFloat32;
}

/// The type that forwards entries sent as `type`, a few of them at a time, without rounding them
/// again; none for low-bit types, whose levels belong to the whole part.
constexpr std::optional<ValueType> EntryValues(ValueType type) {
  if (IsLowBit(type)) return std::nullopt;
  return type;
}

}  // namespace weir
