// The cases of tests/ops over the job's own network: MPI, or none for one rank. The reference is
// the same, so results are bit-equal to the local transport's.
#include <gtest/gtest.h>

#include "tests/ops/collectives/collective_cases.h"
#include "tests/ops/collectives/hierarchical_cases.h"
#include "tests/parallel/job.h"

namespace weir {
namespace {

TEST(ParallelCollectives, AllreduceMatchesTheReferenceForEveryTypeAndSize) {
  cases::Allreduces(JobTransport());
}
TEST(ParallelCollectives, AllreduceScalesBeforeAndAfter) {
  cases::ScaledAllreduces(JobTransport());
}
TEST(ParallelCollectives, AllreduceOfManyLargeChunks) { cases::LargeAllreduces(JobTransport()); }
TEST(ParallelCollectives, ChunksOfEitherSize) { cases::ChunksOfEitherSize(JobTransport()); }
TEST(ParallelCollectives, AllgatherConcatenatesInRankOrder) { cases::Allgathers(JobTransport()); }
TEST(ParallelCollectives, AlltoallSendsEachRankItsPart) { cases::Alltoalls(JobTransport()); }
TEST(ParallelCollectives, ReduceScatterLeavesEachRankItsPart) {
  cases::ReduceScatters(JobTransport());
}
TEST(ParallelCollectives, GroupedAllgatherConcatenatesEachArray) {
  cases::GroupedAllgathers(JobTransport());
}
TEST(ParallelCollectives, GroupedReduceScatterLeavesEachRankItsParts) {
  cases::GroupedReduceScatters(JobTransport());
}
TEST(ParallelCollectives, SparseAllreduceScalesWhatItGathers) {
  cases::SparseAllreduces(JobTransport());
}
TEST(ParallelCollectives, AdasumFollowsTheReference) { cases::Adasums(JobTransport()); }
TEST(ParallelCollectives, FrameExchangeKeepsEachLength) { cases::FrameExchanges(JobTransport()); }
TEST(ParallelCollectives, FrameExchangeBringsEachItsOwn) { cases::FramesForEach(JobTransport()); }
TEST(ParallelCollectives, BroadcastReachesAllFromAnyRoot) { cases::Broadcasts(JobTransport()); }
TEST(ParallelCollectives, BroadcastBytesTellsTheLength) {
  cases::BroadcastsOfUnknownLength(JobTransport());
}
TEST(ParallelCollectives, GatherToRootKeepsEachLength) { cases::GathersToRoot(JobTransport()); }
TEST(ParallelCollectives, AndReduceLeavesTheCommonBits) { cases::AndReduces(JobTransport()); }
TEST(ParallelCollectives, MayStartInAnyOrder) { cases::ManyAtOnce(JobTransport()); }
TEST(ParallelCollectives, ObjectsMayBeUsedAgain) { cases::Reuse(JobTransport()); }

/// Two made-up hosts of two ranks.
TEST(ParallelCollectives, MayGoHostByHost) {
  if (JobTransport().size() != 4) GTEST_SKIP() << "two hosts of two ranks need 4 ranks";
  const cases::Hosts hosts = {0, 0, 1, 1};
  cases::HierarchicalAllreduces(JobTransport(), hosts);
  cases::LongHierarchicalAllreduces(JobTransport(), hosts);
  cases::HierarchicalAllreducesOfHalves(JobTransport(), hosts);
  cases::HierarchicalAllgathers(JobTransport(), hosts);
  cases::HierarchicalGroups(JobTransport(), hosts);
}

}  // namespace
}  // namespace weir
