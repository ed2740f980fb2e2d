#include "ops/arrays/parts.h"

#include <algorithm>

namespace weir {

void AlignedParts(std::size_t elements, DType dtype, std::span<std::size_t> offsets) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t unit = kAlignment / SizeOf(dtype);
  const std::size_t parts = offsets.size() - 1;
  const std::size_t units = (elements + unit - 1) / unit;
  const std::size_t part = (units + parts - 1) / parts * unit;
  for (std::size_t i = 0; i <= parts; ++i) offsets[i] = std::min(elements, i * part);
}

}  // namespace weir
