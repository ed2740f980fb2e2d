// Every collective over the local transport; tests/parallel runs the same cases over the job's.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "ops/collectives/allgather.h"
#include "ops/collectives/allreduce.h"
#include "ops/collectives/alltoall.h"
#include "ops/collectives/barrier.h"
#include "ops/collectives/broadcast.h"
#include "ops/collectives/reduce_scatter.h"
#include "ops/exchanges/broadcast_bytes.h"
#include "ops/exchanges/frame_exchange.h"
#include "ops/exchanges/gather_to_root.h"
#include "ops/grouped/grouped_allgather.h"
#include "ops/grouped/grouped_reduce_scatter.h"
#include "ops/local/transport.h"
#include "tests/ops/collectives/collective_cases.h"
#include "tests/ops/collectives/run_ranks.h"
#include "weir/error.h"

namespace weir {
namespace {

class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, AllreduceMatchesTheReferenceForEveryTypeAndSize) {
  RunRanks(GetParam(), cases::Allreduces);
}
TEST_P(Collectives, AllreduceScalesBeforeAndAfter) {
  RunRanks(GetParam(), cases::ScaledAllreduces);
}
TEST_P(Collectives, AllreduceOfManyLargeChunks) { RunRanks(GetParam(), cases::LargeAllreduces); }
TEST_P(Collectives, ChunksOfEitherSize) { RunRanks(GetParam(), cases::ChunksOfEitherSize); }
TEST_P(Collectives, AllgatherConcatenatesInRankOrder) { RunRanks(GetParam(), cases::Allgathers); }
TEST_P(Collectives, AlltoallSendsEachRankItsPart) { RunRanks(GetParam(), cases::Alltoalls); }
TEST_P(Collectives, ReduceScatterLeavesEachRankItsPart) {
  RunRanks(GetParam(), cases::ReduceScatters);
}
TEST_P(Collectives, GroupedAllgatherConcatenatesEachArray) {
  RunRanks(GetParam(), cases::GroupedAllgathers);
}
TEST_P(Collectives, GroupedAllreduceCombinesGroupsAndSingleArrays) {
  RunRanks(GetParam(), cases::GroupedAllreduces);
}
TEST_P(Collectives, GroupedReduceScatterLeavesEachRankItsParts) {
  RunRanks(GetParam(), cases::GroupedReduceScatters);
}
TEST_P(Collectives, SparseAllreduceScalesWhatItGathers) {
  RunRanks(GetParam(), cases::SparseAllreduces);
}
TEST_P(Collectives, AdasumFollowsTheReference) { RunRanks(GetParam(), cases::Adasums); }
TEST_P(Collectives, FrameExchangeKeepsEachLength) { RunRanks(GetParam(), cases::FrameExchanges); }
TEST_P(Collectives, FrameExchangeBringsEachItsOwn) { RunRanks(GetParam(), cases::FramesForEach); }
TEST_P(Collectives, BroadcastReachesAllFromAnyRoot) { RunRanks(GetParam(), cases::Broadcasts); }
TEST_P(Collectives, BroadcastBytesTellsTheLength) {
  RunRanks(GetParam(), cases::BroadcastsOfUnknownLength);
}
TEST_P(Collectives, GatherToRootKeepsEachLength) { RunRanks(GetParam(), cases::GathersToRoot); }
TEST_P(Collectives, AndReduceLeavesTheCommonBits) { RunRanks(GetParam(), cases::AndReduces); }
TEST_P(Collectives, MayStartInAnyOrder) { RunRanks(GetParam(), cases::ManyAtOnce); }
TEST_P(Collectives, ObjectsMayBeUsedAgain) { RunRanks(GetParam(), cases::Reuse); }

TEST_P(Collectives, BarrierHoldsUntilAllHaveCome) {
  std::atomic<int> arrived = 0;
  RunRanks(GetParam(), [&](Transport& transport) {
    Barrier barrier(transport);
    for (int round = 1; round <= 50; ++round) {
      ++arrived;
      RunCollective(barrier, static_cast<std::uint32_t>(round));
      EXPECT_GE(arrived, round * transport.size());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Values(1, 2, 3, 4, 5, 8),
                         testing::PrintToStringParamName());

class MoreRanksThanSendDirectly : public testing::TestWithParam<int> {};

TEST_P(MoreRanksThanSendDirectly, AllreduceMatchesTheReference) {
  RunRanks(GetParam(), cases::Reuse);
}
TEST_P(MoreRanksThanSendDirectly, AndReduceLeavesTheCommonBits) {
  RunRanks(GetParam(), cases::AndReduces);
}

TEST_P(MoreRanksThanSendDirectly, AlltoallSendsEachRankItsPart) {
  RunRanks(GetParam(), cases::Alltoalls);
}

INSTANTIATE_TEST_SUITE_P(Ranks, MoreRanksThanSendDirectly, testing::Values(9, 11, 16, 21),
                         testing::PrintToStringParamName());

// A network thread that finds nothing done goes to sleep until a message comes.
TEST(ReductionsOfOneRank, AreThroughAtOnceWhateverTheirLength) {
  RunRanks(1, [](Transport& transport) {
    constexpr std::size_t kElements = 100000;
    const std::vector<float> in(kElements, 3.0f);
    std::vector<float> out(kElements);
    Allreduce allreduce(transport);
    allreduce.set_chunk_bytes(256);
    Collective& run = allreduce.Bind(in.data(), out.data(), kElements, DType::kFloat32);
    run.Start(1);
    EXPECT_TRUE(run.Poll());
    EXPECT_EQ(out, in);
    out.assign(kElements, 0.0f);
    ReduceScatter scatter(transport);
    scatter.set_chunk_bytes(256);
    scatter.Bind({.in = reinterpret_cast<const std::byte*>(in.data()),
                  .out = reinterpret_cast<std::byte*>(out.data()),
                  .elements = kElements},
                 std::vector<std::size_t>{0, kElements});
    scatter.Start(2);
    EXPECT_TRUE(scatter.Poll());
    EXPECT_EQ(out, in);
  });
}

TEST(LimitedReductions, PostNoMoreUntilTheyMayGoOn) {
  constexpr std::size_t kElements = 4096, kChunk = 256;
  local::Network network(2);
  const std::array ends = {network.Endpoint(0), network.Endpoint(1)};
  std::array<std::vector<float>, 2> values = {std::vector<float>(kElements, 1.0f),
                                              std::vector<float>(kElements, 2.0f)};
  std::array<std::unique_ptr<Allreduce>, 2> reductions;
  std::array<Collective*, 2> runs{};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    reductions[rank] = std::make_unique<Allreduce>(*ends[rank]);
    reductions[rank]->set_chunk_bytes(kChunk);
    runs[rank] = &reductions[rank]->Bind(values[rank].data(), values[rank].data(), kElements,
                                         DType::kFloat32);
    runs[rank]->Start(1);
  }
  runs[0]->Limit(kChunk - 1);
  // Each call moves all that can move: soon nothing does.
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(runs[0]->Poll());
    EXPECT_FALSE(runs[1]->Poll());
  }
  EXPECT_EQ(ends[0]->totals().sent_messages, 0U);
  EXPECT_EQ(ends[1]->totals().sent_messages, kElements * sizeof(float) / 2 / kChunk);
  runs[0]->Limit(2 * kChunk);
  std::size_t most = 0;
  for (bool done = false; !done;) {
    done = runs[0]->Poll() & runs[1]->Poll();
    most = std::max(most, runs[0]->posted_bytes());
  }
  EXPECT_EQ(most, 2 * kChunk);
  for (const auto& of_rank : values) EXPECT_EQ(of_rank, std::vector<float>(kElements, 3.0f));
}

TEST(AllreduceErrors, BoolAverageIsRefused) {
  RunRanks(1, [](Transport& transport) {
    Allreduce allreduce(transport);
    bool value = true;
    const Reduction average{.op = ReduceOp::kAverage};
    EXPECT_THROW(static_cast<void>(allreduce.Bind(&value, &value, 1, DType::kBool, average)),
                 InvalidArgument);
  });
}

TEST(BroadcastErrors, RootMustExist) {
  RunRanks(2, [](Transport& transport) {
    Broadcast broadcast(transport);
    EXPECT_THROW(broadcast.Bind({}, 2), InvalidArgument);
    EXPECT_THROW(broadcast.Bind({}, -1), InvalidArgument);
  });
}

TEST(BoundedMessages, LongerThanAgreedIsRefusedBeforeSending) {
  RunRanks(1, [](Transport& transport) {
    const std::vector<std::byte> message(11);
    EXPECT_THROW(FrameExchange(transport, 10).Bind(message), InvalidArgument);
    EXPECT_THROW(GatherToRoot(transport, 10).Bind(message), InvalidArgument);
    EXPECT_THROW(BroadcastBytes(transport, 10).Bind(message), InvalidArgument);
  });
}

TEST(AllgatherErrors, LengthsMustFitTheBuffers) {
  RunRanks(1, [](Transport& transport) {
    Allgather allgather(transport);
    std::vector<std::byte> in(3), out(4);
    const std::vector<std::size_t> three = {3}, two_ranks = {3, 1};
    EXPECT_THROW(allgather.Bind(in, out, three), InvalidArgument);
    EXPECT_THROW(allgather.Bind(in, out, two_ranks), InvalidArgument);
  });
}

TEST(GroupErrors, LengthsAndBordersMustFitTheArrays) {
  RunRanks(1, [](Transport& transport) {
    GroupedAllgather gather(transport);
    std::vector<std::byte> in(3), out(3);
    const std::vector<GatheredArray> items = {{in, out}, {in, out}};
    for (const std::vector<std::size_t>& bytes :
         std::vector<std::vector<std::size_t>>{{}, {3}, {3, 4}, {3, 3, 3}}) {
      EXPECT_THROW(gather.Bind(items, bytes), InvalidArgument) << bytes.size();
    }
    GroupedReduceScatter scatter(transport);
    const std::vector<Array> arrays = {{in.data(), out.data(), 3, DType::kUInt8}};
    for (const std::vector<std::size_t>& offsets :
         std::vector<std::vector<std::size_t>>{{}, {0}, {0, 2}, {0, 3, 3}}) {
      EXPECT_THROW(scatter.Bind(arrays, offsets, {}), InvalidArgument) << offsets.size();
    }
    EXPECT_THROW(scatter.Bind(arrays, std::vector<std::size_t>{0, 3}, {ReduceOp::kAdasum}),
                 InvalidArgument);
  });
}

TEST(AlltoallErrors, LengthsMustFitTheBuffers) {
  RunRanks(1, [](Transport& transport) {
    Alltoall alltoall(transport);
    std::vector<std::byte> in(3), out(3), four(4);
    const std::vector<std::size_t> three_bytes = {3}, four_bytes = {4}, two_ranks = {3, 0};
    EXPECT_THROW(alltoall.Bind(in, four_bytes, out, three_bytes), InvalidArgument);
    EXPECT_THROW(alltoall.Bind(in, three_bytes, out, four_bytes), InvalidArgument);
    EXPECT_THROW(alltoall.Bind(in, three_bytes, four, four_bytes), InvalidArgument);
    EXPECT_THROW(alltoall.Bind(in, two_ranks, out, three_bytes), InvalidArgument);
    EXPECT_THROW(alltoall.Bind(in, three_bytes, out, two_ranks), InvalidArgument);
  });
}

TEST(ReduceScatterErrors, PartsLieOneBehindTheOther) {
  RunRanks(2, [](Transport& transport) {
    ReduceScatter scatter(transport);
    std::vector<float> in(5), out(5);
    const ReduceTask task{.in = reinterpret_cast<const std::byte*>(in.data()),
                          .out = reinterpret_cast<std::byte*>(out.data()),
                          .elements = 5};
    for (const std::vector<std::size_t>& offsets : std::vector<std::vector<std::size_t>>{
             {0, 5}, {0, 2, 4}, {1, 2, 5}, {0, 6, 5}, {0, 2, 3, 5}}) {
      EXPECT_THROW(scatter.Bind(task, offsets), InvalidArgument) << offsets.size();
    }
    ReduceTask average_of_bools = task;
    average_of_bools.dtype = DType::kBool;
    average_of_bools.reduction.op = ReduceOp::kAverage;
    EXPECT_THROW(scatter.Bind(average_of_bools, std::vector<std::size_t>{0, 2, 5}),
                 InvalidArgument);
  });
}

}  // namespace
}  // namespace weir
