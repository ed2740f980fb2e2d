#pragma once

#include <cstdint>

namespace weir {

/// Names one submitted operation until it has been waited for. Never reused within a process's
/// life.
using Handle = std::uint64_t;

inline constexpr Handle kNoHandle = 0;

}  // namespace weir
