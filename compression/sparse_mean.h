#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compression/sparse_payload.h"

namespace weir {

/// mean = the mean of the sparse parts of all ranks, added in rank order; an empty payload is a
/// rank that sent nothing. The same bits as MergeSparse of each into zeros and a division of every
/// entry, but writes each entry once and divides only what somebody sent. Throws Corrupt, with
/// `mean` unchanged, as CheckSparse(payload, mean.size(), max_k) does. A pure function,
/// thread-safe.
void MergeSparseMean(std::span<const std::span<const std::byte>> payloads, std::size_t max_k,
                     std::span<float> mean);

/// The sums of all lists, added in their order, of every index below n that any of them names.
/// Indices are ascending, in and out. A pure function, thread-safe.
SparseEntries SumEntries(std::vector<SparseEntries> lists, std::size_t n);

}  // namespace weir
