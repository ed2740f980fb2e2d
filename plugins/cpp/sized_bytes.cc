#include "plugins/cpp/sized_bytes.h"

#include <algorithm>
#include <cstdint>
#include <istream>
#include <ostream>

#include "weir/error.h"

namespace weir {
namespace {

// Checkpoints are shorter; a greater length means a damaged file.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 44;
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 24;

}  // namespace

void WriteSized(std::span<const std::byte> bytes, std::ostream& out) {
  const auto size = static_cast<std::uint64_t>(bytes.size());
  out.write(reinterpret_cast<const char*>(&size), sizeof(size));
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
}

std::vector<std::byte> ReadSized(std::istream& in) {
  if (!in.good()) throw Corrupt("it cannot be read; is the file there?");
  std::uint64_t size = 0;
  in.read(reinterpret_cast<char*>(&size), sizeof(size));
  if (!in) throw Corrupt("a saved optimizer is cut short");
  if (size > kMostBytes) throw Corrupt("it is not a saved optimizer, or is damaged");
  // Piece by piece, so that a damaged length cannot ask for more memory than the file fills.
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    const std::size_t at = bytes.size();
    bytes.resize(at + static_cast<std::size_t>(std::min(kPieceBytes, size - at)));
    in.read(reinterpret_cast<char*>(bytes.data() + at),
            static_cast<std::streamsize>(bytes.size() - at));
    if (!in) throw Corrupt("a saved optimizer is cut short");
  }
  return bytes;
}

}  // namespace weir
