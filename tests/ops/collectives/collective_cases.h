#pragma once

#include "ops/collectives/host_grid.h"
#include "ops/transport/transport.h"

/// Cases for every transport: each function runs one kind of collective on this rank,
/// many sizes, and compares the result with a reference (EXPECT_*). All ranks call the
/// same functions in the same order.
namespace weir::cases {

/// Every type and operation, around the borders between algorithms, parts and chunks.
void Allreduces(Transport& transport);
void ScaledAllreduces(Transport& transport);
/// Chunks of the default size, more of them than are in flight at once.
void LargeAllreduces(Transport& transport);
void ChunksOfEitherSize(Transport& transport);
void Allgathers(Transport& transport);
/// Even, uneven and empty parts, and messages of several chunks.
void Alltoalls(Transport& transport);
/// Every type and operation, parts of even, uneven and no length, compared with an all-reduce.
void ReduceScatters(Transport& transport);
/// Several arrays: fused, alone, and empty.
void GroupedAllgathers(Transport& transport);
void GroupedAllgathersOver(Transport& transport, const HostGrid* grid);
void GroupedAllreduces(Transport& transport);
void GroupedAllreducesOver(Transport& transport, const HostGrid* grid);
void GroupedReduceScatters(Transport& transport);
/// Every type, sums and averages, scaled.
void SparseAllreduces(Transport& transport);
/// Several arrays, on complete and incomplete trees.
void Adasums(Transport& transport);
void FrameExchanges(Transport& transport);
void FramesForEach(Transport& transport);
void Broadcasts(Transport& transport);
void BroadcastsOfUnknownLength(Transport& transport);
void GathersToRoot(Transport& transport);
void AndReduces(Transport& transport);
/// A dozen collectives under way at once, started in a different order on each rank.
void ManyAtOnce(Transport& transport);
/// One object used for arrays of different sizes and types, one after the other.
void Reuse(Transport& transport);
/// In place, more than 2^31 - 1 elements, 1 byte each.
void HugeAllreduce(Transport& transport);
/// The same number of bytes from rank 0 to the last rank.
void HugeAlltoall(Transport& transport);

}  // namespace weir::cases
