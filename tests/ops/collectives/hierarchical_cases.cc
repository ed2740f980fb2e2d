#include "tests/ops/collectives/hierarchical_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "common/half.h"
#include "ops/collectives/allgather.h"
#include "ops/collectives/allreduce.h"
#include "ops/collectives/host_grid.h"
#include "ops/exchanges/host_frame_exchange.h"
#include "ops/grouped/grouped_allreduce.h"
#include "tests/ops/arrays/reference.h"
#include "tests/ops/collectives/case_tools.h"
#include "tests/ops/collectives/collective_cases.h"
#include "tests/ops/collectives/run_ranks.h"

namespace weir::cases {
namespace {

/// Expected result: hosts combine first, with both factors, then the hosts' results are combined.
Bytes InTwoLevels(const Hosts& hosts, DType dtype, const Reduction& reduction, std::size_t elements,
                  std::uint32_t salt) {
  std::map<int, TestArrays> by_host;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    by_host[hosts[rank]].push_back(TestValues(dtype, elements, static_cast<int>(rank), salt));
  }
  TestArrays results;
  for (const auto& [host, arrays] : by_host) {
    results.push_back(ReferenceReduce(
        dtype, {reduction.op, reduction.prescale * reduction.postscale, 1.0}, arrays));
  }
  return ReferenceReduce(dtype, {reduction.op, 1.0, 1.0}, results);
}

/// Whether two levels may give other bits than one.
bool LevelsShow(DType dtype, const Reduction& reduction) {
  if (!IsFloatingPoint(dtype)) return false;
  const bool narrow = SizeOf(dtype) == 2;
  switch (reduction.op) {
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return false;
    case ReduceOp::kProduct:
      return !narrow && reduction.prescale == 1.0 && reduction.postscale == 1.0;
    default:
      return true;
  }
}

void ExpectAllreduce(Transport& transport, const Hosts& hosts, Allreduce& allreduce, DType dtype,
                     const Reduction& reduction, std::size_t elements, bool in_place) {
  const std::uint32_t operation = NextOperation();
  const Bytes out =
      Allreduced(transport, allreduce, operation, dtype, reduction, elements, in_place);
  const bool levels = out.size() > Allreduce::kWholeBytes && LevelsShow(dtype, reduction);
  const Bytes expected =
      levels ? InTwoLevels(hosts, dtype, reduction, elements, operation)
             : ReferenceAllreduce(dtype, reduction, elements, transport.size(), operation);
  EXPECT_TRUE(out == expected) << Name(dtype) << " " << Name(reduction.op) << ", " << elements
                               << " elements" << (in_place ? ", in place" : "");
}

HostGrid GridOf(Transport& transport, const Hosts& hosts) {
  return HostGrid::Of(hosts, transport.rank()).value();
}

}  // namespace

void HierarchicalAllreduces(Transport& transport, const Hosts& hosts) {
  const HostGrid grid = GridOf(transport, hosts);
  Allreduce allreduce(transport, &grid);
  allreduce.set_chunk_bytes(kSmallChunk);
  for (const DType dtype : AllDTypes()) {
    const std::size_t least = Allreduce::kWholeBytes / SizeOf(dtype);
    for (const ReduceOp op : OpsOf(dtype)) {
      for (const std::size_t elements : {std::size_t{5}, least, least + 1, 3 * least + 7}) {
        for (const bool in_place : {true, false}) {
          ExpectAllreduce(transport, hosts, allreduce, dtype, {op, 1.0, 1.0}, elements, in_place);
        }
      }
      if (dtype == DType::kBool) continue;
      ExpectAllreduce(transport, hosts, allreduce, dtype, {op, 0.25, 3.0}, 2 * least, true);
    }
  }
}

void LongHierarchicalAllreduces(Transport& transport, const Hosts& hosts) {
  const HostGrid grid = GridOf(transport, hosts);
  Allreduce allreduce(transport, &grid);
  allreduce.set_chunk_bytes(kSmallChunk);
  const std::size_t elements = hosts.size() * 600 * kSmallChunk / sizeof(float);
  ExpectAllreduce(transport, hosts, allreduce, DType::kFloat32, {}, elements, true);
}

void HierarchicalAllreducesOfHalves(Transport& transport, const Hosts& hosts) {
  const HostGrid grid = GridOf(transport, hosts);
  Allreduce allreduce(transport, &grid);
  constexpr std::size_t kElements = 5000;
  const auto ranks = static_cast<double>(hosts.size());
  struct Case {
    float value;
    Reduction reduction;
    double expected;
  };
  for (const Case& c :
       {Case{65504.0f, {ReduceOp::kAverage, 1.0, 1.0}, 65504.0},
        Case{40000.0f, {ReduceOp::kSum, 1.0, 1.0 / ranks}, 40000.0},
        Case{1e-5f, {ReduceOp::kAverage, 1.0 / 1024, 1024.0}, 1e-5},
        Case{60000.0f, {ReduceOp::kSum, 1.0 / 1024, 1.0}, 60000.0 * ranks / 1024}}) {
    std::vector<std::uint16_t> values(kElements, FloatToHalf(c.value));
    RunCollective(
        allreduce.Bind(values.data(), values.data(), kElements, DType::kFloat16, c.reduction),
        NextOperation());
    const double found = HalfToFloat(values.front());
    EXPECT_NEAR(found, c.expected, 5e-3 * c.expected);
    EXPECT_EQ(std::ranges::count(values, values.front()), static_cast<std::ptrdiff_t>(kElements));
  }
}

void HierarchicalAllgathers(Transport& transport, const Hosts& hosts) {
  const HostGrid grid = GridOf(transport, hosts);
  Allgather allgather(transport, &grid);
  for (const std::size_t unit :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, ChunkStream::kDefaultChunkBytes + 1,
        2 * ChunkStream::kDefaultChunkBytes + 5}) {
    ExpectAllgather(transport, allgather, unit);
  }
  GroupedAllgathersOver(transport, &grid);
  GroupedAllreducesOver(transport, &grid);
}

void HostFrameExchanges(Transport& transport, const Hosts& hosts) {
  constexpr std::size_t kBound = 5000;
  const HostGrid grid = GridOf(transport, hosts);
  HostFrameExchange exchange(transport, grid, kBound);
  for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, std::size_t{700}}) {
    const std::uint32_t operation = NextOperation();
    // That of a rank that is not its host's first is for nobody.
    const auto frame_of = [&](int rank) {
      return Message(unit * static_cast<std::size_t>(1 + rank), rank, operation);
    };
    const Bytes own = frame_of(transport.rank());
    exchange.Bind(own);
    RunCollective(exchange, operation);
    ASSERT_EQ(exchange.frames().size(), static_cast<std::size_t>(grid.hosts()));
    for (int host = 0; host < grid.hosts(); ++host) {
      const auto frame = exchange.frames()[static_cast<std::size_t>(host)];
      EXPECT_TRUE(std::ranges::equal(frame, frame_of(grid.RankAt(host, 0)))) << "host " << host;
    }
  }
}

void HierarchicalGroups(Transport& transport, const Hosts& hosts) {
  const HostGrid grid = GridOf(transport, hosts);
  const std::uint32_t operation = NextOperation();
  struct Member {
    DType dtype;
    std::size_t elements;
  };
  // Averages of integers go flat, and so do the fused small ones.
  const std::vector<Member> members = {{DType::kFloat64, 20000}, {DType::kFloat64, 10},
                                       {DType::kInt32, 30000},   {DType::kFloat64, 30000},
                                       {DType::kFloat64, 1},     {DType::kInt32, 40000},
                                       {DType::kFloat64, 40000}};
  std::vector<Bytes> values;
  std::vector<Array> arrays;
  for (const auto& [dtype, elements] : members) {
    values.push_back(TestValues(dtype, elements, transport.rank(), operation));
    arrays.push_back(
        {values.back().data(), values.back().data(), static_cast<std::int64_t>(elements), dtype});
  }
  GroupedAllreduce grouped(transport, &grid);
  const Reduction average{ReduceOp::kAverage, 1.0, 1.0};
  RunCollective(grouped.Bind(arrays, average), operation);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto [dtype, elements] = members[i];
    const bool levels = dtype == DType::kFloat64 && elements > 100;
    const Bytes expected =
        levels ? InTwoLevels(hosts, dtype, average, elements, operation)
               : ReferenceAllreduce(dtype, average, elements, transport.size(), operation);
    EXPECT_TRUE(values[i] == expected) << "array " << i;
  }
}

}  // namespace weir::cases
