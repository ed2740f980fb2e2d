#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compression/wire/sparse_payload.h"

namespace weir {

/// mean = the mean of the sparse parts of all ranks, added in rank order; an empty payload means
/// that the rank sent nothing. Same bits as MergeSparse of each into zeros and a division of every
/// entry, but writes each entry once and divides only entries that somebody sent. Throws Corrupt,
/// with `mean` unchanged, as CheckSparse does; form.n is mean.size(). A pure function, thread-safe.
void MergeSparseMean(std::span<const std::span<const std::byte>> payloads, const SparseForm& form,
                     std::span<float> mean);

/// Sums all lists, in their order, for every index below n that any of them names. Indices are
/// ascending, in and out. A pure function, thread-safe.
SparseEntries SumEntries(std::vector<SparseEntries> lists, std::size_t n);

}  // namespace weir
