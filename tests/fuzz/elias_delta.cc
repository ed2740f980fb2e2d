// Elias' delta code, number after number.
#include "compression/wire/elias_delta.h"

#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {

void Run(std::span<const std::byte> input) {
  BitReader reader(input);
  const std::size_t bits = 8 * input.size();
  // Room for a number that reaches beyond the end.
  Bytes again(input.size() + 2 * sizeof(std::uint64_t));
  BitWriter writer(again.data());
  std::size_t used = 0;
  while (used < bits) {
    const std::uint64_t number = ReadEliasDelta(reader);
    if (number == 0) break;
    WEIR_CHECK(number <= UINT32_MAX);
    const auto [code, length] = EliasDelta(number);
    writer.Append(code, length);
    used += length;
  }
  writer.Finish();
  // Whole bytes; what lies beyond the end reads as zeros.
  const std::size_t whole = std::min(used, bits) / 8;
  WEIR_CHECK_MSG(std::memcmp(again.data(), input.data(), whole) == 0,
                 "each number has one spelling");
}

std::vector<Bytes> Seeds() {
  Bytes bytes(200);
  BitWriter writer(bytes.data());
  for (std::uint64_t number = 1; number <= UINT32_MAX; number = 3 * number + 1) {
    const auto [code, length] = EliasDelta(number);
    writer.Append(code, length);
  }
  writer.Finish();
  return {bytes};
}

}  // namespace weir::fuzz
