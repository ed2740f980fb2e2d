#include "compression/codecs/random_indices.h"

#include <bit>

#include "common/check.h"
#include "compression/codecs/random_index_math.h"

namespace weir {
namespace {

constexpr std::size_t kWordBits = 64;

/// A set of numbers below n.
class Marks {
 public:
  explicit Marks(std::size_t n) : words_((n + kWordBits - 1) / kWordBits) {}

  /// Returns true if the mark is new.
  bool Set(std::size_t i) {
    std::uint64_t& word = words_[i / kWordBits];
    const std::uint64_t before = word;
    word |= std::uint64_t{1} << i % kWordBits;
    return word != before;
  }

  std::vector<std::uint32_t> Ascending(std::size_t count) const {
    std::vector<std::uint32_t> indices;
    indices.reserve(count);
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
        indices.push_back(static_cast<std::uint32_t>(
            w * kWordBits + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
    return indices;
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace

std::vector<std::uint32_t> RandomIndices(const CounterRandom& random, std::int64_t step,
                                         std::size_t n, std::size_t k) {
  WEIR_CHECK(k <= n && n <= UINT32_MAX);
  Marks marks(n);
  CounterRandom::Block block{};
  for (std::size_t i = 0; i < k; ++i) {
    if (i % 2 == 0) block = random.Draw(step, i / 2);
    const std::size_t last = LastOfDraw(n, k, i);
    if (!marks.Set(NumberBelow(BitsOfDraw(block, i), last + 1))) marks.Set(last);
  }
  return marks.Ascending(k);
}

}  // namespace weir
