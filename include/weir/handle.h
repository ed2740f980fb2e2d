#pragma once

#include <cstdint>

namespace weir {

/// Names one submitted operation of an engine until it has been waited
/// for. Other engines do not know it.
using Handle = std::uint64_t;

inline constexpr Handle kNoHandle = 0;

}  // namespace weir
