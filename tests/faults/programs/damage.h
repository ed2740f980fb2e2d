#pragma once

#include <cstdint>

namespace weir::faults {

/// Damages the next frame that this process sends over MPI: one bit is another, or its end is
/// missing, as `seed` says. Shorter messages, by which ranks agree on what to exchange, go
/// unharmed. Thread-safe.
void DamageNextFrame(std::uint64_t seed);

}  // namespace weir::faults
