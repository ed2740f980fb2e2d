// Collectives that go host by host, on made-up hosts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "ops/collectives/allgather.h"
#include "ops/collectives/allreduce.h"
#include "ops/exchanges/host_frame_exchange.h"
#include "ops/transport/subset_transport.h"
#include "tests/ops/arrays/reference.h"
#include "tests/ops/collectives/case_tools.h"
#include "tests/ops/collectives/hierarchical_cases.h"
#include "tests/ops/collectives/run_ranks.h"
#include "tests/ops/transport/counting_transport.h"
#include "tests/ops/transport/delayed_transport.h"

namespace weir {
namespace {

using cases::Bytes;
using cases::Hosts;
using cases::kSmallChunk;
using cases::NextOperation;

TEST(HostGrid, PlacesRanksOnTheirHosts) {
  const auto grid = HostGrid::Of(Hosts{7, 7, 4, 4, 9, 9}, 3).value();
  EXPECT_EQ(grid.hosts(), 3);
  EXPECT_EQ(grid.ranks_per_host(), 2);
  EXPECT_EQ(grid.host(), 1);
  EXPECT_EQ(grid.place(), 1);
  EXPECT_EQ(grid.local(), (std::vector<int>{2, 3}));
  EXPECT_EQ(grid.Across(), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(grid.RankAt(2, 0), 4);
}

TEST(HostGrid, RanksOfAHostNeedNotFollowEachOther) {
  const auto grid = HostGrid::Of(Hosts{0, 1, 1, 0}, 3).value();
  EXPECT_EQ(grid.local(), (std::vector<int>{0, 3}));
  // Ascending, though the first host's second rank is the higher one.
  EXPECT_EQ(grid.Across(), (std::vector<int>{2, 3}));
}

TEST(HostGrid, ThereIsNoneWhereAHierarchyMeansNothing) {
  EXPECT_FALSE(HostGrid::Of(Hosts{0}, 0));
  EXPECT_FALSE(HostGrid::Of(Hosts{0, 0, 0}, 1));     // one host
  EXPECT_FALSE(HostGrid::Of(Hosts{0, 1, 2}, 1));     // one rank on each
  EXPECT_FALSE(HostGrid::Of(Hosts{0, 0, 1}, 1));     // some have fewer
  EXPECT_FALSE(HostGrid::Of(Hosts{0, 1, 1, 1}, 0));  // some have more
}

class Hierarchies : public testing::TestWithParam<Hosts> {
 protected:
  void Run(const std::function<void(Transport&, const HostGrid&)>& body,
           const WrapTransport& wrap = {}) const {
    RunRanks(
        static_cast<int>(GetParam().size()),
        [&](Transport& transport) {
          body(transport, HostGrid::Of(GetParam(), transport.rank()).value());
        },
        wrap);
  }
  void RunCases(void (*run)(Transport&, const Hosts&)) const {
    RunRanks(static_cast<int>(GetParam().size()),
             [&](Transport& transport) { run(transport, GetParam()); });
  }
};

TEST_P(Hierarchies, AllreduceCombinesOnEachHostAndThenTheHosts) {
  RunCases(cases::HierarchicalAllreduces);
}
TEST_P(Hierarchies, AllreduceOfManyChunks) { RunCases(cases::LongHierarchicalAllreduces); }
TEST_P(Hierarchies, HalvesHoldWhatTheyHoldWithoutLevels) {
  RunCases(cases::HierarchicalAllreducesOfHalves);
}
TEST_P(Hierarchies, AllgatherConcatenatesInRankOrder) { RunCases(cases::HierarchicalAllgathers); }
TEST_P(Hierarchies, GroupsOfArraysAreCombinedOneAfterTheOther) {
  RunCases(cases::HierarchicalGroups);
}

TEST_P(Hierarchies, FramesOfHostsComeToEveryRank) { RunCases(cases::HostFrameExchanges); }

TEST_P(Hierarchies, BytesCrossToEachOtherHostOnce) {
  std::vector<std::size_t> sent(GetParam().size());  // To other hosts, by each rank.
  const auto body = [&](Transport& transport, const HostGrid& grid) {
    const auto hosts = static_cast<std::size_t>(grid.hosts());
    const auto places = static_cast<std::size_t>(grid.ranks_per_host());
    std::size_t& mine = sent[static_cast<std::size_t>(transport.rank())];
    constexpr std::size_t kBytes = 30000;
    const Bytes in(kBytes);
    Bytes out(kBytes * hosts * places);
    Allgather allgather(transport, &grid);
    allgather.Bind(in, out, std::vector<std::size_t>(hosts * places, kBytes));
    RunCollective(allgather, NextOperation());
    EXPECT_EQ(mine, (hosts - 1) * kBytes);

    // Divides evenly, so that all ranks have as much to send.
    const std::size_t elements = hosts * places * 1024;
    std::vector<float> values(elements);
    Allreduce allreduce(transport, &grid);
    Collective& run = allreduce.Bind(values.data(), values.data(),
                                     static_cast<std::int64_t>(elements), DType::kFloat32);
    mine = 0;
    RunCollective(run, NextOperation());
    EXPECT_EQ(mine, 2 * (hosts - 1) * 1024 * sizeof(float));

    HostFrameExchange frames(transport, grid, kBytes);
    frames.Bind(in);
    mine = 0;
    RunCollective(frames, NextOperation());
    EXPECT_EQ(mine, grid.place() == 0 ? (hosts - 1) * kBytes : 0);
  };
  Run(body, [&](std::unique_ptr<Transport> inner) {
    const auto self = static_cast<std::size_t>(inner->rank());
    return std::make_unique<CountingTransport>(
        std::move(inner), [&, self](int peer, std::size_t bytes) {
          if (GetParam()[static_cast<std::size_t>(peer)] != GetParam()[self]) sent[self] += bytes;
        });
  });
}

/// Several operations under way, started in another order on each rank, over a network that
/// delivers late.
TEST_P(Hierarchies, MayStartInAnyOrder) {
  const auto network = std::make_shared<VirtualNetwork>(
      static_cast<int>(GetParam().size()),
      VirtualNetwork::Link{.bytes_per_second = 1e9, .latency = std::chrono::microseconds(200)});
  Run(
      [this](Transport& transport, const HostGrid& grid) {
        constexpr std::size_t kCount = 6;
        const auto ranks = GetParam().size();
        std::vector<Bytes> data, in;
        std::vector<std::shared_ptr<Collective>> runs;
        for (std::size_t i = 0; i < kCount; ++i) {
          const auto salt = static_cast<std::uint32_t>(i);
          in.push_back(TestValues(DType::kInt32, 3000 + i, transport.rank(), salt));
          if (i % 2 == 0) {
            data.push_back(in.back());
            const auto allreduce = std::make_shared<Allreduce>(transport, &grid);
            allreduce->set_chunk_bytes(kSmallChunk);
            Collective& run = allreduce->Bind(data.back().data(), data.back().data(),
                                              static_cast<std::int64_t>(3000 + i), DType::kInt32,
                                              {.op = ReduceOp::kSum});
            runs.emplace_back(allreduce, &run);
          } else {
            data.emplace_back(ranks * in.back().size());
            auto allgather = std::make_unique<Allgather>(transport, &grid);
            allgather->Bind(in.back(), data.back(),
                            std::vector<std::size_t>(ranks, in.back().size()));
            runs.push_back(std::move(allgather));
          }
        }
        for (std::size_t i = 0; i < kCount; ++i) {
          const std::size_t at = (i + static_cast<std::size_t>(transport.rank())) % kCount;
          runs[at]->Start(static_cast<std::uint32_t>(at));
        }
        for (std::size_t left = kCount; left > 0; std::this_thread::yield()) {
          left = 0;
          for (const auto& run : runs) left += run->Poll() ? 0u : 1u;
        }
        for (std::size_t i = 0; i < kCount; ++i) {
          const auto salt = static_cast<std::uint32_t>(i);
          Bytes expected;
          if (i % 2 == 0) {  // Integers, which no order of combining changes.
            expected = ReferenceAllreduce(DType::kInt32, {.op = ReduceOp::kSum}, 3000 + i,
                                          static_cast<int>(ranks), salt);
          }
          for (std::size_t r = 0; i % 2 == 1 && r < ranks; ++r) {
            const Bytes part = TestValues(DType::kInt32, 3000 + i, static_cast<int>(r), salt);
            expected.insert(expected.end(), part.begin(), part.end());
          }
          EXPECT_TRUE(data[i] == expected) << "run " << i;
        }
      },
      [&](std::unique_ptr<Transport> inner) {
        return std::make_unique<DelayedTransport>(std::move(inner), network);
      });
}

/// A run and its buffers.
struct Owned {
  std::shared_ptr<Collective> collective;
  std::vector<float> in;
  std::vector<float> out;
};

Owned MakeAllreduce(Transport& transport, const HostGrid& grid) {
  Owned owned;
  owned.in.resize(3000);
  owned.out.resize(3000);
  const auto allreduce = std::make_shared<Allreduce>(transport, &grid);
  allreduce->set_chunk_bytes(kSmallChunk);
  Collective& run = allreduce->Bind(owned.in.data(), owned.out.data(), 3000, DType::kFloat32);
  owned.collective = std::shared_ptr<Collective>(allreduce, &run);
  return owned;
}

Owned MakeAllgather(Transport& transport, const HostGrid& grid) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  Owned owned;
  owned.in.resize(3000);
  owned.out.resize(ranks * 3000);
  auto allgather = std::make_unique<Allgather>(transport, &grid);
  allgather->Bind(std::as_bytes(std::span(owned.in)), std::as_writable_bytes(std::span(owned.out)),
                  std::vector<std::size_t>(ranks, 3000 * sizeof(float)));
  owned.collective = std::move(allgather);
  return owned;
}

/// Rank 0 stops after so many messages, the others go as far as they can without it; then all give
/// up. True if rank 0 got to the end.
bool GiveUpAfter(std::size_t messages, const Hosts& hosts,
                 Owned (*make)(Transport&, const HostGrid&)) {
  const auto ranks = static_cast<std::ptrdiff_t>(hosts.size());
  std::barrier stuck(ranks), given_up(ranks);
  std::atomic<std::size_t> sent = 0, sent_by_rank_0 = 0;
  std::atomic<bool> stopped = false;
  bool through = false;
  const auto body = [&](Transport& transport) {
    const bool first = transport.rank() == 0;
    Owned run = make(transport, HostGrid::Of(hosts, transport.rank()).value());
    run.collective->Start(1);
    while (first && !through && sent_by_rank_0 < messages) through = run.collective->Poll();
    if (first) stopped = true;
    for (int quiet = 0; !first && quiet < 100; std::this_thread::yield()) {
      const std::size_t before = sent;
      run.collective->Poll();
      quiet = stopped && sent == before ? quiet + 1 : 0;
    }
    stuck.arrive_and_wait();
    run.collective->Cancel();
    EXPECT_TRUE(run.collective->Poll());
    std::ranges::fill(run.in, -1.0f);
    std::ranges::fill(run.out, -2.0f);
    given_up.arrive_and_wait();
    EXPECT_EQ(std::ranges::count(run.in, -1.0f), std::ssize(run.in));
    EXPECT_EQ(std::ranges::count(run.out, -2.0f), std::ssize(run.out));
  };
  RunRanks(static_cast<int>(ranks), body, [&](std::unique_ptr<Transport> inner) {
    const bool first = inner->rank() == 0;
    return std::make_unique<CountingTransport>(std::move(inner), [&, first](int, std::size_t) {
      ++sent;
      sent_by_rank_0 += first ? 1 : 0;
    });
  });
  return through;
}

TEST_P(Hierarchies, LeaveTheirBuffersAloneOnceGivenUp) {
  for (const auto make : {MakeAllreduce, MakeAllgather}) {
    std::size_t messages = 0;
    while (!GiveUpAfter(messages, GetParam(), make)) messages += 2;
    EXPECT_GE(messages, 4u);
  }
}

std::string HostsName(const testing::TestParamInfo<Hosts>& info) {
  std::string name = "Hosts";
  for (const int host : info.param) name += std::to_string(host);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Two, Hierarchies,
                         testing::Values(Hosts{0, 0, 1, 1}, Hosts{0, 1, 1, 0},
                                         Hosts{0, 0, 0, 1, 1, 1}, Hosts{0, 1, 2, 0, 1, 2}),
                         HostsName);

// 65 units of 64 bytes, 6 for each of 12 places: none is left for the last one.
TEST(HierarchyOfManyRanks, SomeMayHaveNoPart) {
  Hosts hosts(24, 0);
  std::fill(hosts.begin() + 12, hosts.end(), 1);
  RunRanks(24, [&](Transport& transport) {
    const HostGrid grid = HostGrid::Of(hosts, transport.rank()).value();
    std::vector<std::uint8_t> values(Allreduce::kWholeBytes + 1, 1);
    Allreduce allreduce(transport, &grid);
    RunCollective(allreduce.Bind(values.data(), values.data(), std::ssize(values), DType::kUInt8,
                                 {.op = ReduceOp::kSum}),
                  1);
    EXPECT_EQ(std::ranges::count(values, 24), std::ssize(values));
  });
}

TEST(HierarchyOfASubset, NumbersItsOwnRanksAndNamesThoseOfTheJob) {
  RunRanks(5, [](Transport& network) {
    if (network.rank() == 0) return;
    SubsetTransport set(network, {1, 2, 3, 4}, 1);
    const auto grid = HostGrid::Of(Hosts{0, 0, 1, 1}, set.rank()).value();
    const SubsetTransport across(set, grid.Across());
    const int other = across.rank() == 0 ? 1 : 0;
    EXPECT_EQ(across.JobRank(other), set.rank() < 2 ? network.rank() + 2 : network.rank() - 2);
    std::vector<float> values(5000, static_cast<float>(network.rank()));
    Allreduce allreduce(set, &grid);
    allreduce.set_chunk_bytes(kSmallChunk);
    RunCollective(
        allreduce.Bind(values.data(), values.data(), 5000, DType::kFloat32, {.op = ReduceOp::kSum}),
        3);
    EXPECT_EQ(std::ranges::count(values, 10.0f), 5000);
  });
}

}  // namespace
}  // namespace weir
