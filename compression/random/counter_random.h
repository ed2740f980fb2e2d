#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir {

/// Random numbers without a state: a pure function of a key and a counter, Philox 4x32-10 (Salmon
/// et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). So every rank and thread can
/// draw the numbers of any element of any step, in any order. Thread-safe.
class CounterRandom {
 public:
  using Block = std::array<std::uint32_t, 4>;

  static constexpr int kRounds = 10;
  static constexpr std::uint32_t kMultiplierA = 0xD2511F53;
  static constexpr std::uint32_t kMultiplierB = 0xCD9E8D57;
  static constexpr std::uint32_t kKeyStepA = 0x9E3779B9;
  static constexpr std::uint32_t kKeyStepB = 0xBB67AE85;

  /// Draws for one tensor: the same on all ranks with the same name and
  /// seed. 0 is a seed like any other.
  CounterRandom(std::uint64_t seed, std::string_view tensor);
  /// The plain generator.
  explicit constexpr CounterRandom(std::array<std::uint32_t, 2> key) : key_(key) {}

  /// Four numbers, each of 32 random bits, for one counter.
  constexpr Block Draw(Block counter) const {
    std::array<std::uint32_t, 2> key = key_;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t a = std::uint64_t{kMultiplierA} * counter[0];
      const std::uint64_t b = std::uint64_t{kMultiplierB} * counter[2];
      counter = {High(b) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                 High(a) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
      key[0] += kKeyStepA;
      key[1] += kKeyStepB;
    }
    return counter;
  }

  /// Block `index` of step `step`.
  constexpr Block Draw(std::int64_t step, std::uint64_t index) const {
    const auto s = static_cast<std::uint64_t>(step);
    return Draw(Block{static_cast<std::uint32_t>(index), High(index), static_cast<std::uint32_t>(s),
                      High(s)});
  }

  std::array<std::uint32_t, 2> key() const { return key_; }

 private:
  static constexpr std::uint32_t High(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
  }

  std::array<std::uint32_t, 2> key_;
};

}  // namespace weir
