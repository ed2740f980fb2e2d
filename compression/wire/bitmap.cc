#include "compression/wire/bitmap.h"

#include <bit>
#include <string>

#include "compression/wire/bit_stream.h"
#include "weir/error.h"

namespace weir {

void EncodeBitmap(std::size_t n, std::span<const std::uint32_t> indices, std::byte* out) {
  BitWriter writer(out);
  std::size_t position = 0;
  for (const std::uint32_t index : indices) {
    writer.AppendZeros(index - position);
    writer.Append(1, 1);
    position = std::size_t{index} + 1;
  }
  writer.AppendZeros(n - position);
  writer.Finish();
}

void DecodeBitmap(std::size_t n, std::span<const std::byte> bytes,
                  std::span<std::uint32_t> indices) {
  if (const std::size_t ones = CountOnes(bytes); ones != indices.size()) {
    throw Corrupt("sparse part: the bitmap marks " + std::to_string(ones) +
                  " indices, but the part holds " + std::to_string(indices.size()));
  }
  if (!PaddingIsZero(bytes, n)) throw Corrupt("sparse part: bits after the bitmap are set");
  std::size_t i = 0;
  for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(std::uint64_t)) {
    for (std::uint64_t word = LoadWord(bytes, offset); word != 0; word &= word - 1) {
      indices[i++] = static_cast<std::uint32_t>(offset * 8 + std::countr_zero(word));
    }
  }
}

}  // namespace weir
