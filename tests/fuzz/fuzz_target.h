#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "common/byte_stream.h"
#include "common/check.h"

/// Common part of the fuzz targets. A target is one file that defines Run and Seeds; libfuzzer.cc
/// makes a program of it. A broken rule ends the program (WEIR_CHECK), and so does any exception
/// that leaves Run: a decoder refuses with the one that it documents.
namespace weir::fuzz {

using Bytes = std::vector<std::byte>;

/// Decodes one input and checks the rules that hold for any bytes.
void Run(std::span<const std::byte> input);

/// Returns outputs of the real encoders, from which the fuzzer starts.
std::vector<Bytes> Seeds();

/// Numbers at the front of an input choose the receiver's knowledge; the rest is received.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// Reads two bytes as a number from 0 to `most`, at most 65535; 0 when there are none left.
  std::size_t Number(std::size_t most) {
    if (rest_.size() < sizeof(std::uint16_t)) return 0;
    const std::size_t number = LoadLittleEndian<std::uint16_t>(rest_.data());
    rest_ = rest_.subspan(sizeof(std::uint16_t));
    return number % (most + 1);
  }
  std::span<const std::byte> Rest() const { return rest_; }
  /// Returns the next bytes, so many or those that are left.
  std::span<const std::byte> Take(std::size_t size) {
    const auto taken = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::string Text() const { return {reinterpret_cast<const char*>(rest_.data()), rest_.size()}; }
  /// Returns the rest, cut or filled with zeros, for decoders that take exactly so many bytes.
  Bytes Exactly(std::size_t size) const {
    Bytes bytes(rest_.begin(), rest_.end());
    bytes.resize(size);
    return bytes;
  }

 private:
  std::span<const std::byte> rest_;
};

/// Makes an input of these numbers and bytes.
inline Bytes Seed(std::initializer_list<std::size_t> numbers, std::span<const std::byte> rest) {
  ByteWriter writer;
  for (const std::size_t number : numbers) writer.Put(static_cast<std::uint16_t>(number));
  writer.PutBytes(rest);
  return writer.Take();
}
inline Bytes Seed(std::initializer_list<std::size_t> numbers, const std::string& rest) {
  return Seed(numbers, std::as_bytes(std::span(rest)));
}

/// Returns whether `decode` returns. `Refusal` is the only exception that it may throw.
template <class Refusal, class Decode>
bool Accepts(Decode decode) {
  try {
    decode();
    return true;
  } catch (const Refusal&) {
    return false;
  }
}

/// Compares bits: -0 is not 0, and NaN equals NaN.
template <class Float>
bool SameBits(const std::vector<Float>& a, const std::vector<Float>& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Float)) == 0;
}

}  // namespace weir::fuzz
