#include "compression/wire/part_header.h"

#include "compression/wire/value_coding.h"
#include "weir/error.h"

namespace weir {

void ThrowFound(const std::string& what, long long found, const std::string& wanted) {
  throw Corrupt("part of a frame: " + what + " is " + std::to_string(found) + ", expected " +
                wanted);
}

unsigned CodingOf(std::span<const std::byte> part) {
  return std::to_integer<unsigned>(part.front()) & 15;
}

int ReadScaleExponent(std::span<const std::byte> part, std::size_t least, ValueType type) {
  if (part.size() < least) {
    ThrowFound("length", static_cast<long long>(part.size()), "at least " + std::to_string(least));
  }
  const auto wanted = static_cast<unsigned>(type);
  if (const auto found = std::to_integer<unsigned>(part[0]) >> 4; found != wanted) {
    ThrowFound("value type", found, std::to_string(wanted) + " (" + std::string(Name(type)) + ")");
  }
  const auto exponent = static_cast<std::int8_t>(part[1]);
  const bool scaled = type != ValueType::kFloat32;
  const int low = scaled ? kMinScaleExponent : 0;
  const int high = scaled ? kMaxScaleExponent : 0;
  if (exponent < low || exponent > high) {
    ThrowFound("scale exponent", exponent, std::to_string(low) + " to " + std::to_string(high));
  }
  return exponent;
}

}  // namespace weir
