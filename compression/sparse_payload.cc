#include "compression/sparse_payload.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "common/check.h"
#include "compression/bit_stream.h"
#include "compression/bitmap.h"
#include "compression/elias_fano.h"
#include "compression/value_coding.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kMaxElements = UINT32_MAX;
constexpr std::size_t kSparseHeaderBytes = 6;  // Kind, exponent, count.
constexpr std::size_t kDenseHeaderBytes = 2;   // Kind, exponent.
constexpr std::size_t kBlock = 512;            // Values decoded at a time, on the stack.

/// How the indices of a part are written; the low four bits of its first byte.
enum class IndexCoding : std::uint8_t { kNone = 0, kEliasFano = 1, kBitmap = 2 };

IndexCoding CodingFor(std::size_t n, std::size_t k) {
  if (k == 0) return IndexCoding::kEliasFano;
  return BitmapBytes(n) < EliasFanoBytes(n, k) ? IndexCoding::kBitmap : IndexCoding::kEliasFano;
}

std::size_t IndexBytes(std::size_t n, std::size_t k) {
  return k == 0 ? 0 : std::min(BitmapBytes(n), EliasFanoBytes(n, k));
}

void WriteHeader(IndexCoding coding, ValueType type, int exponent, std::byte* out) {
  out[0] = static_cast<std::byte>(static_cast<unsigned>(coding) | static_cast<unsigned>(type) << 4);
  out[1] = static_cast<std::byte>(exponent);
}

[[noreturn]] void ThrowFound(const std::string& what, long long found, const std::string& wanted) {
  throw Corrupt("part of a frame: " + what + " is " + std::to_string(found) + ", expected " +
                wanted);
}

struct Header {
  ValueType type;
  int exponent;
};

Header ReadHeader(std::span<const std::byte> payload, std::size_t header_bytes) {
  if (payload.size() < header_bytes) {
    ThrowFound("length", static_cast<long long>(payload.size()),
               "at least " + std::to_string(header_bytes));
  }
  const auto type = std::to_integer<unsigned>(payload[0]) >> 4;
  if (type > 1) ThrowFound("value type", type, "0 (fp16) or 1 (fp32)");
  const Header header{static_cast<ValueType>(type), static_cast<std::int8_t>(payload[1])};
  const bool fp32 = header.type == ValueType::kFloat32;
  const int low = fp32 ? 0 : kMinScaleExponent;
  const int high = fp32 ? 0 : kMaxScaleExponent;
  if (header.exponent < low || header.exponent > high) {
    ThrowFound("scale exponent", header.exponent,
               std::to_string(low) + " to " + std::to_string(high));
  }
  return header;
}

void CheckCoding(std::span<const std::byte> payload, IndexCoding expected) {
  const auto coding = std::to_integer<unsigned>(payload[0]) & 15;
  if (coding != static_cast<unsigned>(expected)) {
    ThrowFound("index coding", coding, std::to_string(static_cast<unsigned>(expected)));
  }
}

void CheckSizeAndValues(std::span<const std::byte> payload, std::size_t expected,
                        std::size_t values_at, ValueType type) {
  if (payload.size() != expected) {
    ThrowFound("length", static_cast<long long>(payload.size()), std::to_string(expected));
  }
  if (!AllFinite(payload.subspan(values_at), DTypeOf(type))) {
    throw Corrupt("part of a frame: a value is inf or NaN, which no sender writes");
  }
}

/// The header of a dense part of n values that was found to be in order.
Header ReadDenseHeader(std::span<const std::byte> payload, std::size_t n) {
  const Header header = ReadHeader(payload, kDenseHeaderBytes);
  CheckCoding(payload, IndexCoding::kNone);
  CheckSizeAndValues(payload, DensePayloadBytes(n, header.type), kDenseHeaderBytes, header.type);
  return header;
}

/// A sparse part that was found to be in order.
struct SparsePart {
  Header header;
  std::vector<std::uint32_t> indices;  ///< Ascending, below n.
  std::span<const std::byte> values;

  void DecodeValuesFrom(std::size_t first, bool negate, std::span<float> out) const {
    DecodeValues(values, header.type, header.exponent, negate, first, out);
  }
};

SparsePart ReadSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k) {
  WEIR_CHECK(n <= kMaxElements);
  SparsePart part{.header = ReadHeader(payload, kSparseHeaderBytes)};
  const std::size_t k = LoadLittleEndian<std::uint32_t>(payload.data() + 2);
  if (const std::size_t limit = std::min(n, max_k); k > limit) {
    ThrowFound("entry count", static_cast<long long>(k), "at most " + std::to_string(limit));
  }
  CheckCoding(payload, CodingFor(n, k));
  const std::size_t values_at = kSparseHeaderBytes + IndexBytes(n, k);
  const ValueType type = part.header.type;
  CheckSizeAndValues(payload, SparsePayloadBytes(n, k, type), values_at, type);
  if (k == 0) return part;

  part.indices.resize(k);
  part.values = payload.subspan(values_at);
  const auto index_bytes = payload.subspan(kSparseHeaderBytes, values_at - kSparseHeaderBytes);
  if (CodingFor(n, k) == IndexCoding::kBitmap) {
    DecodeBitmap(n, index_bytes, part.indices);
  } else {
    DecodeEliasFano(n, index_bytes, part.indices);
  }
  return part;
}

/// Everything is checked and all indices are decoded before the first entry of `target` changes.
void ApplySparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k,
                 std::span<float> target, bool negate) {
  WEIR_CHECK(target.size() >= n);
  const SparsePart part = ReadSparse(payload, n, max_k);
  const std::size_t k = part.indices.size();
  std::array<float, kBlock> values;
  for (std::size_t first = 0; first < k; first += kBlock) {
    const std::size_t count = std::min(kBlock, k - first);
    part.DecodeValuesFrom(first, negate, std::span(values).first(count));
    for (std::size_t i = 0; i < count; ++i) target[part.indices[first + i]] += values[i];
  }
}

}  // namespace

std::size_t SparsePayloadBytes(std::size_t n, std::size_t k, ValueType type) {
  WEIR_CHECK(k <= n && n <= kMaxElements);
  return kSparseHeaderBytes + IndexBytes(n, k) + k * BytesOf(type);
}

std::size_t EncodeSparse(std::size_t n, std::span<const std::uint32_t> indices,
                         std::span<float> values, ValueType type, std::span<std::byte> out) {
  const std::size_t k = indices.size();
  const std::size_t size = SparsePayloadBytes(n, k, type);
  WEIR_CHECK(values.size() == k && out.size() >= size);
  const IndexCoding coding = CodingFor(n, k);
  const int exponent = ScaleExponent(values, type);
  WriteHeader(coding, type, exponent, out.data());
  StoreLittleEndian(out.data() + 2, static_cast<std::uint32_t>(k));
  if (k == 0) return size;
  if (coding == IndexCoding::kBitmap) {
    EncodeBitmap(n, indices, out.data() + kSparseHeaderBytes);
  } else {
    EncodeEliasFano(n, indices, out.data() + kSparseHeaderBytes);
  }
  EncodeValues(values, type, exponent, out.data() + kSparseHeaderBytes + IndexBytes(n, k));
  return size;
}

void CheckSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k) {
  ReadSparse(payload, n, max_k);
}

SparseEntries DecodeSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k) {
  SparsePart part = ReadSparse(payload, n, max_k);
  SparseEntries entries{std::move(part.indices), {}};
  entries.values.resize(entries.indices.size());
  if (!entries.values.empty()) part.DecodeValuesFrom(0, /*negate=*/false, entries.values);
  return entries;
}

void MergeSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k,
                 std::span<float> sum) {
  ApplySparse(payload, n, max_k, sum, /*negate=*/false);
}

void SubtractSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k,
                    std::span<float> rest) {
  ApplySparse(payload, n, max_k, rest, /*negate=*/true);
}

std::size_t DensePayloadBytes(std::size_t n, ValueType type) {
  return kDenseHeaderBytes + n * BytesOf(type);
}

std::size_t EncodeDense(std::span<float> values, ValueType type, std::span<std::byte> out) {
  const std::size_t size = DensePayloadBytes(values.size(), type);
  WEIR_CHECK(out.size() >= size);
  const int exponent = ScaleExponent(values, type);
  WriteHeader(IndexCoding::kNone, type, exponent, out.data());
  EncodeValues(values, type, exponent, out.data() + kDenseHeaderBytes);
  return size;
}

void CheckDense(std::span<const std::byte> payload, std::size_t n) { ReadDenseHeader(payload, n); }

bool IsDensePart(std::span<const std::byte> payload) {
  const auto coding = std::to_integer<unsigned>(payload.front()) & 15;
  return coding == static_cast<unsigned>(IndexCoding::kNone);
}

SparseEntries DecodeDense(std::span<const std::byte> payload, std::size_t n) {
  const Header header = ReadDenseHeader(payload, n);
  SparseEntries entries{std::vector<std::uint32_t>(n), std::vector<float>(n)};
  std::iota(entries.indices.begin(), entries.indices.end(), 0U);
  DecodeValues(payload.subspan(kDenseHeaderBytes), header.type, header.exponent, /*negate=*/false,
               0, entries.values);
  return entries;
}

void MergeDense(std::span<const std::byte> payload, std::span<float> sum) {
  const Header header = ReadDenseHeader(payload, sum.size());
  std::array<float, kBlock> values;
  for (std::size_t first = 0; first < sum.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, sum.size() - first);
    DecodeValues(payload.subspan(kDenseHeaderBytes), header.type, header.exponent,
                 /*negate=*/false, first, std::span(values).first(count));
    for (std::size_t i = 0; i < count; ++i) sum[first + i] += values[i];
  }
}

}  // namespace weir
