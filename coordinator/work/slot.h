#pragma once

#include <cstdint>

namespace weir {

/// A slot value that says "not cached": the name asks on the slow path every time.
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

}  // namespace weir
