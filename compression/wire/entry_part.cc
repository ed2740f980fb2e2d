#include "compression/wire/entry_part.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/check.h"
#include "compression/wire/part_header.h"

namespace weir {

std::size_t MaxEntryPartBytes(std::size_t n, ValueType type) {
  // A sparse part is only written where it is smaller.
  return DensePayloadBytes(n, type);
}

std::size_t EncodeEntryPart(std::size_t n, std::span<const std::uint32_t> indices,
                            std::span<const float> values, ValueType type,
                            std::span<std::byte> out) {
  WEIR_CHECK(!IsLowBit(type));  // Rounding them again would change them.
  std::vector<float> sent(values.begin(), values.end());
  if (SparsePayloadBytes(n, indices.size(), type) < DensePayloadBytes(n, type)) {
    return EncodeSparse(n, indices, sent, type, out);
  }
  sent.assign(n, 0.0f);
  for (std::size_t i = 0; i < indices.size(); ++i) sent[indices[i]] = values[i];
  return EncodeDense(sent, type, out);
}

SparseEntries DecodeEntryPart(std::span<const std::byte> payload, std::size_t n, ValueType type) {
  if (payload.empty()) return {};
  if (IsDensePart(payload)) return DecodeDense(payload, n, type);
  if (const std::size_t dense = DensePayloadBytes(n, type); payload.size() >= dense) {
    ThrowFound("length of a sparse part", static_cast<long long>(payload.size()),
               "less than the " + std::to_string(dense) + " of a dense one");
  }
  return DecodeSparse(payload, {n, n, type});
}

}  // namespace weir
