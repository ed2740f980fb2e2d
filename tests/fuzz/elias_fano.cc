// The Elias-Fano code of a sparse part.
#include "compression/wire/elias_fano.h"

#include "tests/fuzz/index_code.h"

namespace weir::fuzz {
namespace {

struct Code {
  static std::size_t Size(std::size_t n, std::size_t k) { return EliasFanoBytes(n, k); }
  static void Encode(std::size_t n, std::span<const std::uint32_t> indices, std::byte* out) {
    EncodeEliasFano(n, indices, out);
  }
  static void Decode(std::size_t n, std::span<const std::byte> bytes,
                     std::span<std::uint32_t> indices) {
    DecodeEliasFano(n, bytes, indices);
  }
};

}  // namespace

void Run(std::span<const std::byte> input) { RunIndexCode<Code>(input); }

std::vector<Bytes> Seeds() { return IndexCodeSeeds<Code>(); }

}  // namespace weir::fuzz
