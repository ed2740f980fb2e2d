#include "compression/wire/rice.h"

#include <algorithm>
#include <bit>
#include <string>

#include "compression/wire/bit_stream.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr unsigned kMostParameter = 31;
constexpr std::size_t kParameterBytes = 1;

/// Bits of the gaps' rests. Their sum is below 2^32, as the last index is.
std::size_t UnaryBits(std::span<const std::uint32_t> indices, unsigned parameter) {
  std::uint32_t zeros = indices.front() >> parameter;
  for (std::size_t i = 1; i < indices.size(); ++i) {
    zeros += (indices[i] - indices[i - 1] - 1) >> parameter;
  }
  return indices.size() + zeros;
}

std::size_t LowBytes(std::size_t k, unsigned parameter) { return BytesForBits(k * parameter); }

[[noreturn]] void ThrowCorrupt(const std::string& what) { throw Corrupt("sparse part: " + what); }

/// The unary part of k gaps: it ends in the byte of its last one.
void CheckHighPart(std::span<const std::byte> high, std::size_t k) {
  if (const std::size_t ones = CountOnes(high); ones != k) {
    ThrowCorrupt("the Rice code marks " + std::to_string(ones) + " indices, but the part holds " +
                 std::to_string(k));
  }
  if (high.back() == std::byte{0}) ThrowCorrupt("there are bytes after the Rice code");
}

}  // namespace

RiceCode BestRiceCode(std::span<const std::uint32_t> indices) {
  const std::size_t k = indices.size();
  const auto bits = [&](unsigned r) { return k * r + UnaryBits(indices, r); };
  // From r to r + 1 the bits change by k less the sum of the halves of all g >> r, rounded up. That
  // sum falls with r, so the first local minimum is the least number of bits of all.
  const std::size_t mean_gap = (std::size_t{indices.back()} + 1) / k;
  unsigned best = static_cast<unsigned>(std::bit_width(mean_gap)) - 1;
  std::size_t least = bits(best);
  const unsigned start = best;
  while (best > 0) {
    const std::size_t below = bits(best - 1);
    if (below > least) break;
    least = below;
    --best;
  }
  while (best >= start && best < kMostParameter) {
    const std::size_t above = bits(best + 1);
    if (above >= least) break;
    least = above;
    ++best;
  }
  const std::size_t unary = least - k * best;
  return {best, kParameterBytes + LowBytes(k, best) + BytesForBits(unary)};
}

void EncodeRice(std::span<const std::uint32_t> indices, const RiceCode& code, std::byte* out) {
  const unsigned r = code.parameter;
  const std::uint64_t low_mask = (std::uint64_t{1} << r) - 1;
  out[0] = static_cast<std::byte>(r);
  BitWriter low(out + kParameterBytes);
  BitWriter high(out + kParameterBytes + LowBytes(indices.size(), r));
  std::uint32_t next = 0;
  for (const std::uint32_t index : indices) {
    const std::uint32_t gap = index - next;
    low.Append(gap & low_mask, r);
    const std::uint32_t zeros = gap >> r;
    if (zeros < 63) [[likely]] {
      high.Append(std::uint64_t{1} << zeros, zeros + 1);
    } else {
      high.AppendZeros(zeros);
      high.Append(1, 1);
    }
    next = index + 1;
  }
  low.Finish();
  high.Finish();
}

void DecodeRice(std::size_t n, std::span<const std::byte> bytes, std::span<std::uint32_t> indices) {
  const std::size_t k = indices.size();
  if (bytes.empty()) ThrowCorrupt("the Rice code has no bytes");
  const auto r = std::to_integer<unsigned>(bytes.front());
  if (r > kMostParameter) {
    ThrowCorrupt("the parameter of the Rice code is " + std::to_string(r) + ", expected at most " +
                 std::to_string(kMostParameter));
  }
  const std::size_t low_bytes = LowBytes(k, r);
  if (bytes.size() <= kParameterBytes + low_bytes) {
    ThrowCorrupt("the Rice code has " + std::to_string(bytes.size()) +
                 " bytes, expected more than " + std::to_string(kParameterBytes + low_bytes));
  }
  const std::span<const std::byte> low = bytes.subspan(kParameterBytes, low_bytes);
  const std::span<const std::byte> high = bytes.subspan(kParameterBytes + low_bytes);
  CheckHighPart(high, k);
  if (!low.empty() && !PaddingIsZero(low, k * r)) {
    ThrowCorrupt("bits after the low part of the Rice code are set");
  }
  const std::uint64_t low_mask = (std::uint64_t{1} << r) - 1;
  std::size_t i = 0;
  std::size_t bit = 0;     // Position in the low part.
  std::size_t zeros = 0;   // Zeros of the high part so far.
  std::uint64_t next = 0;  // Smallest index that may follow.
  for (std::size_t offset = 0; offset < high.size(); offset += sizeof(std::uint64_t)) {
    for (std::uint64_t word = LoadWord(high, offset); word != 0; word &= word - 1) {
      // CheckHighPart made sure that there are k marks.
      const std::size_t before = offset * 8 + static_cast<std::size_t>(std::countr_zero(word)) - i;
      const std::uint64_t rest = before - zeros;
      const std::uint64_t low_part = LoadWord(low, bit / 8) >> (bit % 8) & low_mask;
      // Compared before it is shifted, so that nothing overflows.
      const std::uint64_t index = rest > n >> r ? n : next + (rest << r | low_part);
      if (index >= n) {
        ThrowCorrupt("index " + std::to_string(i) + " is outside the " + std::to_string(n) +
                     " elements");
      }
      indices[i++] = static_cast<std::uint32_t>(index);
      next = index + 1;
      zeros = before;
      bit += r;
    }
  }
  if (BestRiceCode(indices).parameter != r) {
    ThrowCorrupt("the Rice code has another parameter than the best");
  }
}

}  // namespace weir
