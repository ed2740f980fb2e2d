#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace weir {

/// Writes another column in place of number `column`.
using DrawColumn = std::function<void(std::size_t column, std::span<float> values)>;

/// Makes columns of `length` entries each, one after the other, orthonormal in place:
/// Gram-Schmidt in double, each column twice (Giraud et al., "On the round-off error
/// analysis of the Gram-Schmidt algorithm with reorthogonalization", 2002). The same bits
/// for the same columns on every machine.
///
/// Draws a column anew that is zero, not finite, or, but for rounding, a combination of
/// earlier ones. Without `draw`, or when the new one is no better, it becomes zero. So no
/// result is inf or NaN. Thread-safe.
void Orthonormalise(std::span<float> columns, std::size_t length, const DrawColumn& draw = {});

}  // namespace weir
