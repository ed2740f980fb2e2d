#include "compression/codecs/select_top_k.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace weir {
namespace {

// Bins of the histogram: the exponent and the first three bits of the mantissa.
constexpr unsigned kBinShift = 20;
constexpr std::size_t kBins = std::size_t{1} << (31 - kBinShift);

/// Magnitudes of floats order as these integers do.
std::uint32_t Magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffff; }

/// The bin that holds the k-th largest magnitude.
struct Border {
  std::uint32_t bin;
  std::size_t above;   ///< Values in higher bins.
  std::size_t inside;  ///< Values in this one.
};

Border FindBorder(std::span<const float> values, std::size_t k) {
  std::array<std::size_t, kBins> histogram{};
  for (const float value : values) ++histogram[Magnitude(value) >> kBinShift];
  Border border{kBins - 1, 0, histogram[kBins - 1]};
  while (border.above + border.inside < k) {
    border.above += border.inside;
    border.inside = histogram[--border.bin];
  }
  return border;
}

/// Indices of all values in the border's bin and above.
std::vector<std::uint32_t> Candidates(std::span<const float> values, const Border& border) {
  // One place more than needed: each index is written before it is known to count.
  std::vector<std::uint32_t> candidates(border.above + border.inside + 1);
  const std::uint32_t low = border.bin << kBinShift;
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    candidates[count] = static_cast<std::uint32_t>(i);
    count += Magnitude(values[i]) >= low ? 1 : 0;
  }
  candidates.pop_back();
  return candidates;
}

}  // namespace

std::size_t CountAtDensity(std::size_t n, double density) {
  const auto rounded = static_cast<std::size_t>(std::llround(density * static_cast<double>(n)));
  return std::min(n, std::max<std::size_t>(1, rounded));
}

std::vector<std::uint32_t> SelectTopK(std::span<const float> values, std::size_t k) {
  if (k == 0) return {};
  if (k >= values.size()) {
    std::vector<std::uint32_t> all(values.size());
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  const Border border = FindBorder(values, k);
  std::vector<std::uint32_t> candidates = Candidates(values, border);
  std::vector<std::uint32_t> magnitudes;
  magnitudes.reserve(candidates.size());
  for (const std::uint32_t index : candidates) magnitudes.push_back(Magnitude(values[index]));
  const auto kth = magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(magnitudes.begin(), kth, magnitudes.end(), std::greater<>());
  const std::uint32_t threshold = *kth;
  const auto larger =
      std::ranges::count_if(magnitudes, [threshold](std::uint32_t m) { return m > threshold; });
  std::size_t ties = k - static_cast<std::size_t>(larger);
  std::erase_if(candidates, [&](std::uint32_t index) {
    const std::uint32_t magnitude = Magnitude(values[index]);
    if (magnitude != threshold) return magnitude < threshold;
    if (ties == 0) return true;
    --ties;
    return false;
  });
  return candidates;
}

}  // namespace weir
