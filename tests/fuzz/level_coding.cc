// The levels of a quantised tensor.
#include "compression/codecs/level_coding.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostElements = 9000;

Bytes Encoded(const std::vector<std::int8_t>& levels, int s, LevelForm form) {
  Bytes bytes(MaxLevelBytes(levels.size(), s, form));
  bytes.resize(EncodeLevels(levels, s, form, bytes.data()));
  return bytes;
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const int s = 1 + static_cast<int>(input.Number(kMostLevels - 1));
  std::vector<std::int8_t> levels(input.Number(kMostElements));
  const LevelForm form = input.Number(1) == 0 ? LevelForm::kShorter : LevelForm::kPacked;
  const auto received = input.Rest();
  if (!Accepts<Corrupt>([&] { DecodeLevels(received, s, form, levels); })) return;
  for (const std::int8_t level : levels) WEIR_CHECK(std::abs(int{level}) <= s);
  const Bytes again = Encoded(levels, s, form);
  // Packed tiles may have been the longer way.
  const bool shorter = form == LevelForm::kShorter && again.size() < received.size();
  WEIR_CHECK_MSG(shorter || std::ranges::equal(again, received), "no sender writes this");
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (const std::size_t s : {1u, 3u, 7u, 127u}) {
    for (const unsigned gap : {1u, 20u, 300u}) {
      std::vector<std::int8_t> levels(5001);
      for (std::int8_t& level : levels) {
        const int any = static_cast<int>(random() % (2 * s + 1)) - static_cast<int>(s);
        level = static_cast<std::int8_t>(random() % gap == 0 ? any : 0);
      }
      const auto most = static_cast<int>(s);
      seeds.push_back(Seed({s - 1, levels.size(), 0}, Encoded(levels, most, LevelForm::kShorter)));
      seeds.push_back(Seed({s - 1, levels.size(), 1}, Encoded(levels, most, LevelForm::kPacked)));
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
