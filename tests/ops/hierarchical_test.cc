// Collectives that go host by host, on hosts that are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "ops/allgather.h"
#include "ops/allreduce.h"
#include "ops/grouped_allreduce.h"
#include "ops/subset_transport.h"
#include "tests/ops/case_tools.h"
#include "tests/ops/counting_transport.h"
#include "tests/ops/delayed_transport.h"
#include "tests/ops/reference.h"
#include "tests/ops/run_ranks.h"

namespace weir {
namespace {

using cases::Bytes;
using cases::kSmallChunk;
using cases::Message;
using cases::NextOperation;

/// The host of each rank.
using Hosts = std::vector<int>;

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

/// What every rank must hold: hosts combine first, then the hosts' results are.
Bytes InTwoLevels(const Hosts& hosts, DType dtype, const Reduction& reduction, std::size_t elements,
                  std::uint32_t salt) {
  std::map<int, TestArrays> by_host;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    by_host[hosts[rank]].push_back(TestValues(dtype, elements, static_cast<int>(rank), salt));
  }
  TestArrays results;
  for (const auto& [host, arrays] : by_host) {
    results.push_back(ReferenceReduce(dtype, {reduction.op, reduction.prescale, 1.0}, arrays));
  }
  return ReferenceReduce(dtype, {reduction.op, 1.0, reduction.postscale}, results);
}

/// What a flat exchange would give: of what is small, and of integers, which no order changes.
Bytes AtOnce(const Hosts& hosts, DType dtype, const Reduction& reduction, std::size_t elements,
             std::uint32_t salt) {
  return ReferenceAllreduce(dtype, reduction, elements, static_cast<int>(hosts.size()), salt);
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

  void ExpectAllreduce(Transport& transport, Allreduce& allreduce, DType dtype,
                       const Reduction& reduction, std::size_t elements, bool in_place) const {
    const std::uint32_t operation = NextOperation();
    const Bytes in = TestValues(dtype, elements, transport.rank(), operation);
    Bytes out = in_place ? in : Bytes(in.size(), std::byte{0xcd});
    allreduce.Bind(in_place ? out.data() : in.data(), out.data(),
                   static_cast<std::int64_t>(elements), dtype, reduction);
    RunCollective(allreduce, operation);
    EXPECT_TRUE(allreduce.Poll());
    const bool flat = in.size() <= Allreduce::kWholeBytes || !IsFloatingPoint(dtype);
    EXPECT_TRUE(out ==
                (flat ? AtOnce : InTwoLevels)(GetParam(), dtype, reduction, elements, operation))
        << Name(dtype) << " " << Name(reduction.op) << ", " << elements << " elements"
        << (in_place ? ", in place" : "");
  }
};

TEST_P(Hierarchies, AllreduceCombinesOnEachHostAndThenTheHosts) {
  Run([this](Transport& transport, const HostGrid& grid) {
    Allreduce allreduce(transport, &grid, kSmallChunk);
    for (const DType dtype : AllDTypes()) {
      const std::size_t least = Allreduce::kWholeBytes / SizeOf(dtype);
      for (const ReduceOp op : OpsOf(dtype)) {
        for (const std::size_t elements : {std::size_t{5}, least, least + 1, 3 * least + 7}) {
          for (const bool in_place : {true, false}) {
            ExpectAllreduce(transport, allreduce, dtype, {op, 1.0, 1.0}, elements, in_place);
          }
        }
        if (dtype == DType::kBool) continue;
        ExpectAllreduce(transport, allreduce, dtype, {op, 0.25, 3.0}, 2 * least, true);
      }
    }
  });
}

TEST_P(Hierarchies, AverageOverflowsNowhere) {
  Run([](Transport& transport, const HostGrid& grid) {
    constexpr std::size_t kElements = 5000;
    constexpr std::uint16_t kLargest = 0x7bff;  // 65504, of fp16.
    std::vector<std::uint16_t> values(kElements, kLargest);
    Allreduce allreduce(transport, &grid);
    allreduce.Bind(values.data(), values.data(), kElements, DType::kFloat16,
                   {.op = ReduceOp::kAverage});
    RunCollective(allreduce, NextOperation());
    EXPECT_EQ(std::ranges::count(values, kLargest), static_cast<std::ptrdiff_t>(kElements));
  });
}

TEST_P(Hierarchies, AllgatherConcatenatesInRankOrder) {
  Run([](Transport& transport, const HostGrid& grid) {
    Allgather allgather(transport, &grid);
    const auto self = static_cast<std::size_t>(transport.rank());
    for (const std::size_t unit :
         {std::size_t{0}, std::size_t{1}, std::size_t{1000}, ChunkStream::kDefaultChunkBytes + 1,
          (ChunkStream::kInFlight + 1) * ChunkStream::kDefaultChunkBytes + 5}) {
      for (const bool in_place : {false, true}) {
        const std::uint32_t operation = NextOperation();
        std::vector<std::size_t> lengths;
        Bytes expected, in;
        std::size_t offset = 0;
        for (std::size_t r = 0; r < static_cast<std::size_t>(transport.size()); ++r) {
          lengths.push_back(unit * ((r + 2) % 3));  // some contribute nothing
          const Bytes part = Message(lengths[r], static_cast<int>(r), operation);
          if (r == self) {
            in = part;
            offset = expected.size();
          }
          expected.insert(expected.end(), part.begin(), part.end());
        }
        Bytes out(expected.size());
        std::ranges::copy(in, out.begin() + static_cast<std::ptrdiff_t>(offset));
        allgather.Bind(in_place ? std::span<const std::byte>(out).subspan(offset, in.size())
                                : std::span<const std::byte>(in),
                       out, lengths);
        RunCollective(allgather, operation);
        EXPECT_TRUE(allgather.Poll());
        EXPECT_TRUE(out == expected) << unit << " bytes" << (in_place ? ", in place" : "");
      }
    }
  });
}

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
    allreduce.Bind(values.data(), values.data(), static_cast<std::int64_t>(elements),
                   DType::kFloat32);
    mine = 0;
    RunCollective(allreduce, NextOperation());
    EXPECT_EQ(mine, 2 * (hosts - 1) * 1024 * sizeof(float));
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
        std::vector<std::unique_ptr<Collective>> runs;
        for (std::size_t i = 0; i < kCount; ++i) {
          const auto salt = static_cast<std::uint32_t>(i);
          in.push_back(TestValues(DType::kFloat32, 3000 + i, transport.rank(), salt));
          if (i % 2 == 0) {
            data.push_back(in.back());
            auto allreduce = std::make_unique<Allreduce>(transport, &grid, kSmallChunk);
            allreduce->Bind(data.back().data(), data.back().data(),
                            static_cast<std::int64_t>(3000 + i), DType::kFloat32);
            runs.push_back(std::move(allreduce));
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
          Bytes expected = InTwoLevels(GetParam(), DType::kFloat32, {}, 3000 + i, salt);
          if (i % 2 == 1) {
            expected.clear();
            for (std::size_t r = 0; r < ranks; ++r) {
              const Bytes part = TestValues(DType::kFloat32, 3000 + i, static_cast<int>(r), salt);
              expected.insert(expected.end(), part.begin(), part.end());
            }
          }
          EXPECT_TRUE(data[i] == expected) << "run " << i;
        }
      },
      [&](std::unique_ptr<Transport> inner) {
        return std::make_unique<DelayedTransport>(std::move(inner), network);
      });
}

/// One operation, several arrays, all with the operation's number.
TEST_P(Hierarchies, GroupsOfArraysAreCombinedOneAfterTheOther) {
  Run([this](Transport& transport, const HostGrid& grid) {
    const std::uint32_t operation = NextOperation();
    std::vector<Bytes> values;
    std::vector<Array> arrays;
    std::vector<std::size_t> lengths = {20000, 10, 30000, 1, 40000};
    for (const std::size_t elements : lengths) {
      values.push_back(TestValues(DType::kFloat64, elements, transport.rank(), operation));
      arrays.push_back({values.back().data(), values.back().data(),
                        static_cast<std::int64_t>(elements), DType::kFloat64});
    }
    GroupedAllreduce grouped(transport, &grid);
    grouped.Bind(arrays, {});
    RunCollective(grouped, operation);
    for (const std::size_t i : {0, 2, 4}) {
      EXPECT_TRUE(values[i] == InTwoLevels(GetParam(), DType::kFloat64, {}, lengths[i], operation))
          << "array " << i;
    }
  });
}

TEST_P(Hierarchies, MayBeGivenUpInAnyPhase) {
  // Each rank gives up after another number of polls; only then do buffers go.
  RunRanks(static_cast<int>(GetParam().size()), [this](Transport& transport) {
    const HostGrid grid = HostGrid::Of(GetParam(), transport.rank()).value();
    std::vector<float> values(20000);
    Allreduce allreduce(transport, &grid, kSmallChunk);
    allreduce.Bind(values.data(), values.data(), 20000, DType::kFloat32);
    allreduce.Start(1);
    for (int i = 0; i < 40 * transport.rank(); ++i) allreduce.Poll();
    allreduce.Cancel();
    EXPECT_TRUE(allreduce.Poll());
    std::vector<std::byte> in(5000);
    std::vector<std::byte> out(in.size() * GetParam().size());
    Allgather allgather(transport, &grid);
    allgather.Bind(in, out, std::vector<std::size_t>(GetParam().size(), in.size()));
    allgather.Start(2);
    for (int i = 0; i < transport.rank(); ++i) allgather.Poll();
    allgather.Cancel();
  });
}

std::string HostsName(const testing::TestParamInfo<Hosts>& info) {
  std::string name = "Hosts";
  for (const int host : info.param) name += std::to_string(host);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Two, Hierarchies,
                         testing::Values(Hosts{0, 0, 1, 1}, Hosts{0, 1, 0, 1},
                                         Hosts{0, 0, 0, 1, 1, 1}, Hosts{0, 0, 1, 1, 2, 2}),
                         HostsName);

TEST(HierarchyOfASubset, NumbersItsOwnRanksAndNamesThoseOfTheJob) {
  RunRanks(5, [](Transport& network) {
    if (network.rank() == 0) return;
    SubsetTransport set(network, {1, 2, 3, 4}, 1);
    const auto grid = HostGrid::Of(Hosts{0, 0, 1, 1}, set.rank()).value();
    const SubsetTransport across(set, grid.Across());
    const int other = across.rank() == 0 ? 1 : 0;
    EXPECT_EQ(across.JobRank(other), set.rank() < 2 ? network.rank() + 2 : network.rank() - 2);
    std::vector<float> values(5000, static_cast<float>(network.rank()));
    Allreduce allreduce(set, &grid, kSmallChunk);
    allreduce.Bind(values.data(), values.data(), 5000, DType::kFloat32, {.op = ReduceOp::kSum});
    RunCollective(allreduce, 3);
    EXPECT_EQ(std::ranges::count(values, 10.0f), 5000);
  });
}

}  // namespace
}  // namespace weir
