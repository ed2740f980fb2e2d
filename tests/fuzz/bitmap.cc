// The bitmap of a sparse part.
#include "compression/wire/bitmap.h"

#include "tests/fuzz/index_code.h"

namespace weir::fuzz {
namespace {

struct Code {
  static std::size_t Size(std::size_t n, std::size_t) { return BitmapBytes(n); }
  static void Encode(std::size_t n, std::span<const std::uint32_t> indices, std::byte* out) {
    EncodeBitmap(n, indices, out);
  }
  static void Decode(std::size_t n, std::span<const std::byte> bytes,
                     std::span<std::uint32_t> indices) {
    DecodeBitmap(n, bytes, indices);
  }
};

}  // namespace

void Run(std::span<const std::byte> input) { RunIndexCode<Code>(input); }

std::vector<Bytes> Seeds() { return IndexCodeSeeds<Code>(); }

}  // namespace weir::fuzz
