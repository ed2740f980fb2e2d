#pragma once

#include <cstdint>

namespace weir {

/// Slot of a name that is not cached, which asks on the slow path every time.
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

}  // namespace weir
