#include "compression/wire/sparse_payload.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "common/byte_stream.h"
#include "common/check.h"
#include "compression/wire/index_coding.h"
#include "compression/wire/part_header.h"
#include "compression/wire/value_coding.h"

namespace weir {
namespace {

constexpr std::size_t kMaxElements = UINT32_MAX;
constexpr std::size_t kCountAt = kPartHeaderBytes;
constexpr std::size_t kBlock = 512;  // Values decoded at a time, on the stack.

IndexSize IndexSizeFor(ValueType type) {
  return IsLowBit(type) ? IndexSize::kVariable : IndexSize::kFixed;
}

/// The values of a part that was checked.
struct PartValues {
  ValueType type = ValueType::kFloat16;
  int exponent = 0;
  std::span<const std::byte> bytes;

  void Decode(std::size_t first, bool negate, std::span<float> out) const {
    DecodeValues(bytes, type, exponent, negate, first, out);
  }

  /// Calls use(first, values) for blocks of `count` values.
  template <class Use>
  void ForEachBlock(std::size_t count, bool negate, Use use) const {
    std::array<float, kBlock> block;
    for (std::size_t first = 0; first < count; first += kBlock) {
      const auto values = std::span(block).first(std::min(kBlock, count - first));
      Decode(first, negate, values);
      use(first, std::span<const float>(values));
    }
  }
};

PartValues ReadDense(std::span<const std::byte> payload, std::size_t n, ValueType type) {
  const int exponent = ReadScaleExponent(payload, kPartHeaderBytes, type);
  if (const unsigned coding = CodingOf(payload); coding != 0) {
    ThrowFound("index coding", coding, "0");
  }
  if (const std::size_t expected = DensePayloadBytes(n, type); payload.size() != expected) {
    ThrowFound("length", static_cast<long long>(payload.size()), std::to_string(expected));
  }
  const auto values = payload.subspan(kPartHeaderBytes);
  CheckValues(values, n, type);
  return {type, exponent, values};
}

struct SparsePart {
  std::vector<std::uint32_t> indices;  ///< Ascending, below n.
  PartValues values;
};

SparsePart ReadSparse(std::span<const std::byte> payload, const SparseForm& form) {
  const auto& [n, max_k, type] = form;
  WEIR_CHECK(n <= kMaxElements);
  const int exponent = ReadScaleExponent(payload, kSparseHeaderBytes, type);
  const std::size_t k = LoadLittleEndian<std::uint32_t>(payload.data() + kCountAt);
  if (const std::size_t limit = std::min(n, max_k); k > limit) {
    ThrowFound("entry count", static_cast<long long>(k), "at most " + std::to_string(limit));
  }
  const std::size_t value_bytes = ValueBytes(k, type);
  if (payload.size() < kSparseHeaderBytes + value_bytes) {
    ThrowFound("length", static_cast<long long>(payload.size()),
               "at least " + std::to_string(kSparseHeaderBytes + value_bytes));
  }
  const std::size_t index_bytes = payload.size() - kSparseHeaderBytes - value_bytes;
  const unsigned coding = CodingOf(payload);
  CheckIndexCoding(coding, n, k, index_bytes, IndexSizeFor(type));
  const auto values = payload.last(value_bytes);
  CheckValues(values, k, type);
  SparsePart part{std::vector<std::uint32_t>(k), {type, exponent, values}};
  DecodeIndices(static_cast<IndexCoding>(coding), n,
                payload.subspan(kSparseHeaderBytes, index_bytes), part.indices);
  return part;
}

/// Everything is checked and all indices are decoded before the first entry of `target` changes.
void ApplySparse(std::span<const std::byte> payload, const SparseForm& form,
                 std::span<float> target, bool negate) {
  WEIR_CHECK(target.size() >= form.n);
  const SparsePart part = ReadSparse(payload, form);
  const std::uint32_t* const indices = part.indices.data();
  part.values.ForEachBlock(part.indices.size(), negate,
                           [=](std::size_t first, std::span<const float> values) {
                             for (std::size_t i = 0; i < values.size(); ++i) {
                               target[indices[first + i]] += values[i];
                             }
                           });
}

}  // namespace

std::size_t SparseEntryCount(std::span<const std::byte> payload) {
  WEIR_CHECK(payload.size() >= kSparseHeaderBytes);
  return LoadLittleEndian<std::uint32_t>(payload.data() + kCountAt);
}

std::size_t SparsePayloadBytes(std::size_t n, std::size_t k, ValueType type) {
  WEIR_CHECK(k <= n && n <= kMaxElements);
  return kSparseHeaderBytes + MaxIndexBytes(n, k) + ValueBytes(k, type);
}

std::size_t EncodeSparse(std::size_t n, std::span<const std::uint32_t> indices,
                         std::span<float> values, ValueType type, std::span<std::byte> out) {
  const std::size_t k = indices.size();
  WEIR_CHECK(values.size() == k && out.size() >= SparsePayloadBytes(n, k, type));
  const IndexPlan plan = PlanIndices(n, indices, IndexSizeFor(type));
  const int exponent = ScaleExponent(values, type);
  WritePartHeader(plan.coding, type, exponent, out.data());
  StoreLittleEndian(out.data() + kCountAt, static_cast<std::uint32_t>(k));
  EncodeIndices(n, indices, plan, out.data() + kSparseHeaderBytes);
  const std::size_t values_at = kSparseHeaderBytes + plan.bytes;
  EncodeValues(values, type, exponent, out.data() + values_at);
  return values_at + ValueBytes(k, type);
}

void CheckSparse(std::span<const std::byte> payload, const SparseForm& form) {
  ReadSparse(payload, form);
}

SparseEntries DecodeSparse(std::span<const std::byte> payload, const SparseForm& form) {
  SparsePart part = ReadSparse(payload, form);
  SparseEntries entries{std::move(part.indices), {}};
  entries.values.resize(entries.indices.size());
  if (!entries.values.empty()) part.values.Decode(0, /*negate=*/false, entries.values);
  return entries;
}

SparseEntries EntriesOfAll(std::vector<float> values) {
  SparseEntries entries{std::vector<std::uint32_t>(values.size()), std::move(values)};
  std::iota(entries.indices.begin(), entries.indices.end(), 0U);
  return entries;
}

void MergeSparse(std::span<const std::byte> payload, const SparseForm& form, std::span<float> sum) {
  ApplySparse(payload, form, sum, /*negate=*/false);
}

void SubtractSparse(std::span<const std::byte> payload, const SparseForm& form,
                    std::span<float> rest) {
  ApplySparse(payload, form, rest, /*negate=*/true);
}

std::size_t DensePayloadBytes(std::size_t n, ValueType type) {
  return kPartHeaderBytes + ValueBytes(n, type);
}

std::size_t EncodeDense(std::span<float> values, ValueType type, std::span<std::byte> out) {
  const std::size_t size = DensePayloadBytes(values.size(), type);
  WEIR_CHECK(out.size() >= size);
  const int exponent = ScaleExponent(values, type);
  WritePartHeader(IndexCoding::kNone, type, exponent, out.data());
  EncodeValues(values, type, exponent, out.data() + kPartHeaderBytes);
  return size;
}

void CheckDense(std::span<const std::byte> payload, std::size_t n, ValueType type) {
  ReadDense(payload, n, type);
}

bool IsDensePart(std::span<const std::byte> payload) {
  return CodingOf(payload) == static_cast<unsigned>(IndexCoding::kNone);
}

SparseEntries DecodeDense(std::span<const std::byte> payload, std::size_t n, ValueType type) {
  const PartValues part = ReadDense(payload, n, type);
  std::vector<float> values(n);
  part.Decode(0, /*negate=*/false, values);
  return EntriesOfAll(std::move(values));
}

void MergeDense(std::span<const std::byte> payload, ValueType type, std::span<float> sum) {
  ReadDense(payload, sum.size(), type)
      .ForEachBlock(sum.size(), /*negate=*/false,
                    [sum](std::size_t first, std::span<const float> values) {
                      for (std::size_t i = 0; i < values.size(); ++i) sum[first + i] += values[i];
                    });
}

}  // namespace weir
