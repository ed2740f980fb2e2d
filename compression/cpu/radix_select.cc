#include "compression/cpu/radix_select.h"

#include <algorithm>
#include <bit>

#include "common/check.h"
#include "compression/dgc/dgc_math.h"

namespace weir::cpu {
namespace {

/// Calls `use(key)` for every number of every part.
template <typename Use>
void ForEachKey(std::span<const std::span<const float>> parts, const Use& use) {
  for (const std::span<const float> part : parts) {
    for (const float value : part) use(MagnitudeKey(value));
  }
}

}  // namespace

int RadixSelect::KeyRange::shift() const {
  return std::max(0, static_cast<int>(std::bit_width(high - low)) - kBits);
}

RadixSelect::KeyRange RadixSelect::RangeOf(std::span<const std::uint32_t> keys) {
  KeyRange range{UINT32_MAX, 0};
  for (const std::uint32_t key : keys) {
    range.low = std::min(range.low, key);
    range.high = std::max(range.high, key);
  }
  return range;
}

RadixSelect::Bin RadixSelect::BinOfRank(const Histogram& histogram, std::size_t rank) {
  std::size_t above = 0;
  for (std::size_t bin = histogram.size(); bin-- > 0;) {
    if (above + histogram[bin] >= rank) return {bin, above};
    above += histogram[bin];
  }
  WEIR_CHECK_MSG(false, "rank beyond the set");
  return {};
}

RadixSelect::Result RadixSelect::Select(std::span<const std::span<const float>> parts,
                                        std::size_t k) {
  KeyRange range{UINT32_MAX, 0};
  ForEachKey(parts, [&](std::uint32_t key) {
    range.low = std::min(range.low, key);
    range.high = std::max(range.high, key);
  });
  first_range_ = range;
  first_.fill(0);
  const int shift = range.shift();
  ForEachKey(parts, [&](std::uint32_t key) { ++first_[(key - range.low) >> shift]; });

  Result result;
  result.largest = range.high;
  const Bin bin = BinOfRank(first_, k);
  result.above = bin.above;
  result.key = range.low + (static_cast<std::uint32_t>(bin.index) << shift);
  if (shift == 0) return result;

  keys_.clear();
  ForEachKey(parts, [&](std::uint32_t key) {
    if ((key - range.low) >> shift == bin.index) keys_.push_back(key);
  });
  return SelectAmongKeys(k, result);
}

RadixSelect::Result RadixSelect::SelectAmongKeys(std::size_t k, Result result) {
  for (;;) {
    const KeyRange range = RangeOf(keys_);
    const int shift = range.shift();
    Histogram histogram{};
    for (const std::uint32_t key : keys_) ++histogram[(key - range.low) >> shift];
    const Bin bin = BinOfRank(histogram, k - result.above);
    result.above += bin.above;
    result.key = range.low + (static_cast<std::uint32_t>(bin.index) << shift);
    if (shift == 0) return result;
    std::erase_if(keys_,
                  [&](std::uint32_t key) { return (key - range.low) >> shift != bin.index; });
  }
}

std::uint32_t RadixSelect::LowerBoundOfRank(std::size_t rank) const {
  const Bin bin = BinOfRank(first_, rank);
  return first_range_.low + (static_cast<std::uint32_t>(bin.index) << first_range_.shift());
}

}  // namespace weir::cpu
