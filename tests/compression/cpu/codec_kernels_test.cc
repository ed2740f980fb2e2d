// The vector kernels of codecs: the same on every instruction set, and as documented.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "compression/cpu/dither.h"
#include "compression/cpu/sign_bits.h"

namespace weir::cpu {
namespace {

std::vector<float> Normal(std::size_t n, unsigned more = 0) {
  std::mt19937 random(static_cast<unsigned>(n) + more);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

/// On each instruction set that this machine has, and with no, one and three threads.
void OnEveryTarget(const std::function<void(ThreadPool*)>& test) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &one, &three}) test(pool);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(PackSigns, SameBitsAndSumOnEveryTargetAndThreadCount) {
  for (const std::size_t n : {1, 31, 33, 1000, 65536, 65537, 200003}) {
    const auto values = Normal(n);
    std::vector<std::uint32_t> wanted(SignWords(n));
    for (std::size_t i = 0; i < n; ++i) {
      if (values[i] < 0.0f) wanted[i / 32] |= 1u << i % 32;
    }
    double exact = 0.0;
    for (const float value : values) exact += std::abs(static_cast<double>(value));
    double first_sum = -1.0;
    OnEveryTarget([&](ThreadPool* pool) {
      std::vector<std::uint32_t> words(SignWords(n), 0xffffffff);
      const double sum = PackSigns(values, reinterpret_cast<std::byte*>(words.data()), pool);
      EXPECT_EQ(words, wanted) << n;
      if (first_sum < 0) first_sum = sum;
      EXPECT_EQ(sum, first_sum) << n;
      EXPECT_NEAR(sum, exact, 0x1p-22 * exact) << n;
    });
  }
}

TEST(PackSigns, TheSumOfTheLargestIsWhatItIs) {
  const std::vector<float> values(100, -std::numeric_limits<float>::max());
  std::vector<std::byte> words(4 * SignWords(values.size()));
  OnEveryTarget([&](ThreadPool* pool) {
    EXPECT_EQ(PackSigns(values, words.data(), pool),
              100.0 * static_cast<double>(std::numeric_limits<float>::max()));
  });
}

/// Bit for bit, so that -0 is not 0.
void ExpectSameBits(std::span<const float> found, std::span<const float> wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(wanted[i])) << i;
  }
}

TEST(TakeAndPackSigns, HasTheBitsOfTakingAndThenPackingOnEveryTargetAndThreadCount) {
  for (const std::size_t n : {1, 31, 32, 33, 63, 1000, 65536, 65537, 200003}) {
    auto gradient = Normal(n);
    auto before = Normal(n, 1000);
    const float values[] = {0.0f, -0.0f, 1e-42f, NAN, -INFINITY, 3e38f, INFINITY, -1e38f};
    for (std::size_t i = 0; i < n; i += 3) gradient[i] = values[i / 3 % std::size(values)];
    for (std::size_t i = 0; i < n; i += 5) before[i] = values[i / 5 % 3];
    for (std::size_t i = 1; i < n; i += 7) before[i] = 3e38f;  // Overflows when it is doubled.
    const ErrorStep step{gradient, 0.3f, 2.0f};
    auto wanted = before;
    const std::uint32_t non_finite = Take(step, wanted);
    std::vector<std::uint32_t> wanted_words(SignWords(n));
    const double sum = PackSigns(wanted, reinterpret_cast<std::byte*>(wanted_words.data()));
    OnEveryTarget([&](ThreadPool* pool) {
      auto error = before;
      std::vector<std::uint32_t> words(SignWords(n), 0xffffffff);
      const TakenSigns taken =
          TakeAndPackSigns(step, error, reinterpret_cast<std::byte*>(words.data()), pool);
      ExpectSameBits(error, wanted);
      EXPECT_EQ(words, wanted_words) << n;
      EXPECT_EQ(taken.sum, sum) << n;
      EXPECT_EQ(taken.non_finite, non_finite) << n;
    });
  }
}

TEST(MeanOfSigns, HasTheBitsOfAddingAndDividingOnEveryTarget) {
  // The last length is written past the caches.
  for (const std::size_t n : {1, 33, 4096, 9001, (4 << 20) + 5}) {
    std::vector<std::vector<std::uint32_t>> words(3, std::vector<std::uint32_t>(SignWords(n)));
    std::vector<ScaledSigns> parts;
    const float magnitudes[] = {0.0f, 1.5f, 0.3f};
    for (std::size_t p = 0; p < 3; ++p) {
      auto* bytes = reinterpret_cast<std::byte*>(words[p].data());
      PackSigns(Normal(n, 1000 * static_cast<unsigned>(p)), bytes);
      parts.push_back({bytes, magnitudes[p]});
    }
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      const auto some = std::span(parts).first(count);
      std::vector<float> wanted(n, 0.0f);
      for (const ScaledSigns& part : some) AddSigns(part, wanted);
      for (float& value : wanted) value /= 4.0f;
      for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        hwy::SetSupportedTargetsForTest(target);
        std::vector<float> mean(n + 1, 99.0f);
        MeanOfSigns(some, 4, std::span(mean).subspan(1));  // Not aligned.
        ExpectSameBits(std::span(mean).subspan(1), wanted);
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

/// By definition, entry by entry.
std::int8_t Rounded(const DitherSource& source, const DitherRule& rule, std::size_t i,
                    float value) {
  const std::uint64_t block =
      (static_cast<std::uint64_t>(source.rank) << 32) + i / 64 * 16 + i % 16;
  const std::uint32_t draw = source.random.Draw(source.step, block)[i / 16 % 4];
  const float unit = rule.nearest ? 0.5f : static_cast<float>(draw >> 8) * 0x1p-24f;
  const float y = std::min(std::abs(value) / rule.scale, 1.0f);
  int below = 0;
  float rest = 0.0f;
  if (!rule.natural) {
    const float place = y * static_cast<float>(rule.levels);
    below = static_cast<int>(place);
    rest = place - static_cast<float>(below);
  } else if (std::ldexp(y, rule.levels - 1) < 1.0f) {
    rest = std::ldexp(y, rule.levels - 1);
  } else {
    const int exponent = std::ilogb(y);
    below = exponent + rule.levels;
    rest = std::ldexp(y, -exponent) - 1.0f;
  }
  const int level = below + (unit < rest ? 1 : 0);
  return static_cast<std::int8_t>(value < 0.0f ? -level : level);
}

TEST(Dither, IsItsDefinitionOnEveryTargetAndThreadCount) {
  const DitherSource source{CounterRandom(7, "w"), std::int64_t{5} << 33, 3};
  for (const std::size_t n : {1, 63, 64, 65, 1000, 65536 + 100}) {
    auto values = Normal(n);
    values[0] = 100.0f;  // Above the scale.
    for (const DitherRule& rule :
         {DitherRule{.scale = 3.0f, .levels = 1}, DitherRule{.scale = 2.0f, .levels = 127},
          DitherRule{.scale = 4.0f, .levels = 20, .natural = true},
          DitherRule{.scale = 4.0f, .levels = 1, .natural = true},
          DitherRule{.scale = 2.5f, .levels = 3, .nearest = true}}) {
      std::vector<std::int8_t> wanted(n);
      for (std::size_t i = 0; i < n; ++i) wanted[i] = Rounded(source, rule, i, values[i]);
      OnEveryTarget([&](ThreadPool* pool) {
        std::vector<std::int8_t> levels(n, 99);
        Dither(source, rule, values, levels, pool);
        EXPECT_EQ(levels, wanted) << n << " values, " << rule.levels << " levels";
      });
    }
  }
}

TEST(LargestMagnitude, LooksAtEveryEntryOnEveryTarget) {
  for (const std::size_t n : {1, 7, 16, 33, 100}) {
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<float> values(n, 0.5f);
      values[at] = -2.0f;
      OnEveryTarget([&](ThreadPool*) { EXPECT_EQ(LargestMagnitude(values), 2.0f) << at; });
    }
  }
  EXPECT_EQ(LargestMagnitude({}), 0.0f);
}

}  // namespace
}  // namespace weir::cpu
