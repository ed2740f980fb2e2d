#include "compression/wire/index_coding.h"

#include <string>

#include "compression/wire/part_header.h"

namespace weir {
IndexPlan PlanIndices(std::size_t n, std::span<const std::uint32_t> indices, IndexSize size) {
  const std::size_t k = indices.size();
  const IndexPlan fixed{FixedIndexCoding(n, k), MaxIndexBytes(n, k), {}};
  if (size == IndexSize::kFixed || k == 0) return fixed;
  const RiceCode rice = BestRiceCode(indices);
  return rice.bytes < fixed.bytes ? IndexPlan{IndexCoding::kRice, rice.bytes, rice} : fixed;
}

void EncodeIndices(std::size_t n, std::span<const std::uint32_t> indices, const IndexPlan& plan,
                   std::byte* out) {
  if (indices.empty()) return;
  switch (plan.coding) {
    case IndexCoding::kRice:
      return EncodeRice(indices, plan.rice, out);
    case IndexCoding::kBitmap:
      return EncodeBitmap(n, indices, out);
    case IndexCoding::kNone:
    case IndexCoding::kEliasFano:
      return EncodeEliasFano(n, indices, out);
  }
}

void CheckIndexCoding(unsigned coding, std::size_t n, std::size_t k, std::size_t bytes,
                      IndexSize size) {
  const auto fixed = static_cast<unsigned>(FixedIndexCoding(n, k));
  const bool rice = coding == static_cast<unsigned>(IndexCoding::kRice);
  const std::size_t most = MaxIndexBytes(n, k);
  if (rice && size == IndexSize::kVariable && k > 0) {
    // k marks take at least k bits.
    if (bytes < most && bytes * 8 > k) return;
    ThrowFound("bytes of the Rice code", static_cast<long long>(bytes),
               "more than " + std::to_string(k / 8) + " and fewer than " + std::to_string(most));
  }
  if (coding != fixed) ThrowFound("index coding", coding, std::to_string(fixed));
  if (bytes != most) {
    ThrowFound("bytes of the indices", static_cast<long long>(bytes), std::to_string(most));
  }
}

void DecodeIndices(IndexCoding coding, std::size_t n, std::span<const std::byte> bytes,
                   std::span<std::uint32_t> indices) {
  if (indices.empty()) return;
  switch (coding) {
    case IndexCoding::kRice:
      return DecodeRice(n, bytes, indices);
    case IndexCoding::kBitmap:
      return DecodeBitmap(n, bytes, indices);
    case IndexCoding::kNone:
    case IndexCoding::kEliasFano:
      return DecodeEliasFano(n, bytes, indices);
  }
}

}  // namespace weir
