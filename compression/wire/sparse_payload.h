#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compression/wire/part_header.h"
#include "compression/wire/value_type.h"

namespace weir {

/// The sparse part of a frame: k of n entries as (index, value). docs/wire-format.md, "Sparse
/// part": a header of 6 bytes, indices in Elias-Fano code (or a bitmap where that is smaller),
/// values as fp16 with one power-of-two scale taken from the largest |value|, or as fp32. Its size
/// is then a function of (n, k, value type) alone. Low-bit values are all about size, so with them
/// indices may be in Rice code, where that is smaller still, and the size depends on them. No
/// alignment is assumed. Pure functions, thread-safe.

/// The kind of the part, the exponent of its scale, and the number of its entries.
inline constexpr std::size_t kSparseHeaderBytes = kPartHeaderBytes + sizeof(std::uint32_t);

/// Upper bound of the bytes of a payload of k entries out of n; exact
/// with fp16 and fp32. k <= n < 2^32.
std::size_t SparsePayloadBytes(std::size_t n, std::size_t k, ValueType type);

/// Writes the payload and returns its size. `indices` strictly ascending, below n. `values[i]` is
/// replaced by its decoded value, so that the caller can keep the rounding loss. Values too large
/// for the type saturate and never become inf; a NaN is sent as 0.
std::size_t EncodeSparse(std::size_t n, std::span<const std::uint32_t> indices,
                         std::span<float> values, ValueType type, std::span<std::byte> out);

/// A receiver's knowledge of a sparse part before it arrives.
struct SparseForm {
  std::size_t n = 0;      ///< Elements of the tensor.
  std::size_t max_k = 0;  ///< Most entries.
  ValueType type = ValueType::kFloat16;
};

/// Returns the number of entries of a part that EncodeSparse wrote here.
std::size_t SparseEntryCount(std::span<const std::byte> payload);

/// Throws Corrupt unless EncodeSparse could have written the payload with that form.
void CheckSparse(std::span<const std::byte> payload, const SparseForm& form);

/// The entries of a part, indices ascending.
struct SparseEntries {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};
/// Throws as CheckSparse does.
SparseEntries DecodeSparse(std::span<const std::byte> payload, const SparseForm& form);
/// One entry for each of the values.
SparseEntries EntriesOfAll(std::vector<float> values);

/// sum[index] += value for every entry. Throws as CheckSparse does, with `sum` unchanged.
void MergeSparse(std::span<const std::byte> payload, const SparseForm& form, std::span<float> sum);
/// sum[index] -= value, which leaves what was not sent.
void SubtractSparse(std::span<const std::byte> payload, const SparseForm& form,
                    std::span<float> rest);

/// A dense part, "Dense part" in docs/wire-format.md: a header of 2 bytes, then n values as in a
/// sparse part.
std::size_t DensePayloadBytes(std::size_t n, ValueType type);
/// Replaces `values` by their decoded values, as EncodeSparse does.
std::size_t EncodeDense(std::span<float> values, ValueType type, std::span<std::byte> out);
/// Throws Corrupt unless EncodeDense could have written the payload for n values of this type.
void CheckDense(std::span<const std::byte> payload, std::size_t n, ValueType type);
/// True if a part says that it is dense, not sparse. Not for empty parts.
bool IsDensePart(std::span<const std::byte> payload);
/// Returns all n entries. Throws as CheckDense does.
SparseEntries DecodeDense(std::span<const std::byte> payload, std::size_t n, ValueType type);
/// sum += decoded values. Throws as CheckDense does, with `sum` unchanged.
void MergeDense(std::span<const std::byte> payload, ValueType type, std::span<float> sum);

}  // namespace weir
