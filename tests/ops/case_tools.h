#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/ops/reference.h"

namespace weir::cases {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kSmallChunk = 256;

/// A number that no other operation of this test program has under way: callers count alike.
inline std::uint32_t NextOperation() {
  thread_local std::uint32_t next = 0;
  return next++;
}

inline Bytes Message(std::size_t bytes, int rank, std::uint32_t salt) {
  return TestValues(DType::kUInt8, bytes, rank, salt);
}

}  // namespace weir::cases
