#include "compression/wire/elias_fano.h"

#include <bit>
#include <string>

#include "compression/wire/bit_stream.h"
#include "weir/error.h"

namespace weir {
namespace {

void CheckHighPart(std::span<const std::byte> high, const EliasFanoLayout& layout, std::size_t k) {
  if (const std::size_t ones = CountOnes(high); ones != k) {
    throw Corrupt("sparse part: the Elias-Fano high part marks " + std::to_string(ones) +
                  " indices, but the part holds " + std::to_string(k));
  }
  if (!PaddingIsZero(high, layout.high_bits)) {
    throw Corrupt("sparse part: bits after the Elias-Fano high part are set");
  }
}

}  // namespace

void EncodeEliasFano(std::size_t n, std::span<const std::uint32_t> indices, std::byte* out) {
  const EliasFanoLayout layout(n, indices.size());
  const std::uint64_t low_mask = (std::uint64_t{1} << layout.low_bits) - 1;
  BitWriter low(out);
  BitWriter high(out + layout.low_bytes);
  std::uint32_t previous = 0;
  for (const std::uint32_t index : indices) {
    low.Append(index & low_mask, layout.low_bits);
    const std::uint32_t bucket = index >> layout.low_bits;
    const std::uint32_t zeros = bucket - previous;
    if (zeros < 63) [[likely]] {
      high.Append(std::uint64_t{1} << zeros, zeros + 1);
    } else {
      high.AppendZeros(zeros);
      high.Append(1, 1);
    }
    previous = bucket;
  }
  low.Finish();
  high.AppendZeros(((n - 1) >> layout.low_bits) - previous);
  high.Finish();
}

void DecodeEliasFano(std::size_t n, std::span<const std::byte> bytes,
                     std::span<std::uint32_t> indices) {
  const std::size_t k = indices.size();
  const EliasFanoLayout layout(n, k);
  const std::span<const std::byte> low = bytes.first(layout.low_bytes);
  const std::span<const std::byte> high = bytes.subspan(layout.low_bytes);
  CheckHighPart(high, layout, k);
  const std::uint64_t low_mask = (std::uint64_t{1} << layout.low_bits) - 1;
  std::size_t i = 0;
  std::size_t bit = 0;  // Position in the low part.
  bool ascending = true;
  std::uint64_t next_allowed = 0;
  for (std::size_t offset = 0; offset < high.size(); offset += sizeof(std::uint64_t)) {
    std::uint64_t word = LoadWord(high, offset);
    for (; word != 0; word &= word - 1) {
      // The i-th mark is i places after its bucket; CheckHighPart made sure that i stays below k.
      const std::size_t bucket = offset * 8 + static_cast<std::size_t>(std::countr_zero(word)) - i;
      const std::uint64_t low_part = LoadWord(bytes, bit / 8) >> (bit % 8) & low_mask;
      const std::uint64_t index = bucket << layout.low_bits | low_part;
      ascending &= index >= next_allowed;
      next_allowed = index + 1;
      indices[i++] = static_cast<std::uint32_t>(index);
      bit += layout.low_bits;
    }
  }
  if (!ascending) throw Corrupt("sparse part: indices do not ascend");
  if (next_allowed > n) {
    throw Corrupt("sparse part: index " + std::to_string(next_allowed - 1) + " is outside the " +
                  std::to_string(n) + " elements");
  }
  if (!PaddingIsZero(low, k * layout.low_bits)) {
    throw Corrupt("sparse part: bits after the Elias-Fano low part are set");
  }
}

}  // namespace weir
