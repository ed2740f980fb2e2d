#include "ops/transport/subset_transport.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <string>
#include <vector>

#include "ops/collectives/allreduce.h"
#include "ops/local/transport.h"
#include "tests/ops/collectives/run_ranks.h"
#include "weir/error.h"

namespace weir {
namespace {

TEST(SubsetTransport, NumbersItsRanksFromZeroInTheirOrder) {
  local::Network network(4);
  const auto third = network.Endpoint(3);
  const SubsetTransport subset(*third, {1, 3}, 1);
  EXPECT_EQ(subset.rank(), 1);
  EXPECT_EQ(subset.size(), 2);
  EXPECT_EQ(subset.JobRank(0), 1);
  EXPECT_EQ(subset.JobRank(1), 3);
}

/// One float from each rank, all with the same number of operation.
float Sum(Transport& transport, std::uint32_t operation, float value) {
  std::vector<float> values(1, value);
  Allreduce allreduce(transport);
  RunCollective(
      allreduce.Bind(values.data(), values.data(), 1, DType::kFloat32, {ReduceOp::kSum, 1.0, 1.0}),
      operation);
  return values[0];
}

TEST(SubsetTransport, SetsThatOverlapDoNotHearEachOther) {
  RunRanks(4, [](Transport& network) {
    const int rank = network.rank();
    const auto value = static_cast<float>(1 << rank);
    // {0, 1, 3} and {1, 2, 3}; the whole network with the same numbers in between.
    for (std::uint32_t operation = 0; operation < 40; ++operation) {
      if (rank != 2) {
        SubsetTransport first(network, {0, 1, 3}, 1);
        EXPECT_EQ(Sum(first, operation, value), 11.0f);
      }
      EXPECT_EQ(Sum(network, operation, value), 15.0f);
      if (rank != 0) {
        SubsetTransport second(network, {1, 2, 3}, 2);
        EXPECT_EQ(Sum(second, operation, value), 14.0f);
      }
    }
  });
}

/// Messages of two sets between the same two ranks, with the same tag and in the other order.
TEST(SubsetTransport, ALaneKeepsMessagesApart) {
  local::Network network(2);
  const auto a = network.Endpoint(0);
  const auto b = network.Endpoint(1);
  SubsetTransport a1(*a, {0, 1}, 1), a2(*a, {0, 1}, 2), b1(*b, {0, 1}, 1), b2(*b, {0, 1}, 2);
  const std::byte one{1}, two{2};
  const auto sent1 = a1.Send(1, {5, 6}, {&one, 1});
  const auto sent2 = a2.Send(1, {5, 6}, {&two, 1});
  std::byte got1{}, got2{};
  const auto receive2 = b2.Receive(0, {5, 6}, {&got2, 1});
  const auto receive1 = b1.Receive(0, {5, 6}, {&got1, 1});
  EXPECT_TRUE(b2.Test(receive2));
  EXPECT_TRUE(b1.Test(receive1));
  EXPECT_EQ(got1, one);
  EXPECT_EQ(got2, two);
  EXPECT_TRUE(a1.Test(sent1));
  EXPECT_TRUE(a2.Test(sent2));
}

TEST(SubsetTransport, ErrorsNameRanksAsTheJobDoes) {
  std::barrier both(2);
  RunRanks(3, [&](Transport& network) {
    if (network.rank() == 1) return;
    SubsetTransport subset(network, {0, 2}, 1);
    // The ranks disagree on the length.
    std::vector<float> values(network.rank() == 0 ? 3 : 4);
    Allreduce allreduce(subset);
    Collective& run =
        allreduce.Bind(values.data(), values.data(), static_cast<std::int64_t>(values.size()),
                       DType::kFloat32, {ReduceOp::kSum, 1.0, 1.0});
    try {
      RunCollective(run, 3);
      ADD_FAILURE() << "nobody noticed on rank " << network.rank();
    } catch (const Corrupt& error) {
      const int other = 2 - network.rank();
      EXPECT_EQ(error.context().ranks, std::vector<int>{other});
    }
    both.arrive_and_wait();  // A message that is taken back is not noticed.
    run.Cancel();
  });
}

}  // namespace
}  // namespace weir
