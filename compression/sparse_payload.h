#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// How the values of a payload travel.
enum class ValueType : std::uint8_t { kFloat16 = 0, kFloat32 = 1 };

/// The sparse part of a frame: k of n entries as (index, value). docs/wire-format.md, "Sparse
/// part": a header of 6 bytes, indices in Elias-Fano code (or a bitmap where that is smaller),
/// values as fp16 with one power-of-two scale taken from the largest |value|, or as fp32. Size is a
/// function of (n, k, value type) alone. No alignment is assumed. Pure functions, thread-safe.

/// Exact size in bytes of a payload of k entries out of n. k <= n < 2^32.
std::size_t SparsePayloadBytes(std::size_t n, std::size_t k, ValueType type);

/// Writes the payload and returns its size. `indices` strictly ascending, below n. `values[i]` is
/// replaced by what a receiver will decode, so that the caller can keep the rounding loss. Values
/// too large for the type saturate and never become inf; a NaN is sent as 0.
std::size_t EncodeSparse(std::size_t n, std::span<const std::uint32_t> indices,
                         std::span<float> values, ValueType type, std::span<std::byte> out);

/// Throws Corrupt unless the payload is one that EncodeSparse could have written with this n and at
/// most max_k entries.
void CheckSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k);

/// The entries of a part, indices ascending.
struct SparseEntries {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};
/// Throws as CheckSparse does.
SparseEntries DecodeSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k);

/// sum[index] += value for every entry. Throws as CheckSparse does, with `sum` unchanged.
void MergeSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k,
                 std::span<float> sum);
/// The same with -=: what remains after sending.
void SubtractSparse(std::span<const std::byte> payload, std::size_t n, std::size_t max_k,
                    std::span<float> rest);

/// A dense part, "Dense part" in docs/wire-format.md: a header of 2 bytes, then n values as fp16
/// with one power-of-two scale, or as fp32.
std::size_t DensePayloadBytes(std::size_t n, ValueType type);
/// `values` are replaced by what a receiver will decode, as in EncodeSparse.
std::size_t EncodeDense(std::span<float> values, ValueType type, std::span<std::byte> out);
/// Throws Corrupt unless EncodeDense could have written the payload for n values.
void CheckDense(std::span<const std::byte> payload, std::size_t n);
/// Whether a part says that it is a dense one, and not a sparse one. Not empty.
bool IsDensePart(std::span<const std::byte> payload);
/// All n entries. Throws as CheckDense does.
SparseEntries DecodeDense(std::span<const std::byte> payload, std::size_t n);
/// sum += decoded values. Throws as CheckDense does, with `sum` unchanged.
void MergeDense(std::span<const std::byte> payload, std::span<float> sum);

}  // namespace weir
