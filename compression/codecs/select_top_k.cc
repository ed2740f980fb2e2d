#include "compression/codecs/select_top_k.h"

#include <numeric>

#include "compression/cpu/radix_select.h"
#include "compression/dgc/dgc_math.h"

namespace weir {

std::vector<std::uint32_t> SelectTopK(std::span<const float> values, std::size_t k) {
  if (k == 0) return {};
  std::vector<std::uint32_t> indices;
  if (k >= values.size()) {
    indices.resize(values.size());
    std::iota(indices.begin(), indices.end(), 0u);
    return indices;
  }
  const cpu::RadixSelect::Result kth = cpu::RadixSelect().Select(std::span(&values, 1), k);
  std::size_t ties = k - kth.above;
  indices.reserve(k);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t key = MagnitudeKey(values[i]);
    if (key < kth.key) continue;
    if (key == kth.key) {
      if (ties == 0) continue;
      --ties;
    }
    indices.push_back(static_cast<std::uint32_t>(i));
  }
  return indices;
}

}  // namespace weir
