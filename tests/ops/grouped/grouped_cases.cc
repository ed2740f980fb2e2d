// Collectives of several arrays as one operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ops/grouped/grouped_allgather.h"
#include "ops/grouped/grouped_allreduce.h"
#include "ops/grouped/grouped_reduce_scatter.h"
#include "ops/grouped/sparse_allreduce.h"
#include "tests/ops/collectives/case_tools.h"
#include "tests/ops/collectives/collective_cases.h"

namespace weir::cases {
namespace {

/// Lengths around what is fused with others and what is not, so that there are several runs of
/// several arrays; some of nothing.
std::vector<std::size_t> Lengths() {
  std::vector<std::size_t> lengths = {0, 1, 17, 64, FusedRuns::kSmallBytes + 64, 0, 3};
  lengths.insert(lengths.end(), 150, FusedRuns::kSmallBytes / 16);
  lengths.push_back(3 * ChunkStream::kDefaultChunkBytes);
  return lengths;
}

/// Several all-gathers, their lengths by item and rank, and room for their results.
struct Gatherings {
  std::vector<Gathering> all;
  std::vector<std::size_t> bytes;
  std::vector<Bytes> out;

  void Add(const Transport& transport, DType dtype, std::size_t unit, std::uint32_t salt) {
    all.push_back(GatheringOf(transport, dtype, unit, salt));
    bytes.insert(bytes.end(), all.back().bytes.begin(), all.back().bytes.end());
    out.emplace_back(all.back().expected.size(), std::byte{0xcd});
  }
  std::vector<GatheredArray> Items() {
    std::vector<GatheredArray> items;
    for (std::size_t i = 0; i < all.size(); ++i) items.push_back({all[i].in, out[i]});
    return items;
  }
};

}  // namespace

void GroupedAllgathers(Transport& transport) { GroupedAllgathersOver(transport, nullptr); }

void GroupedAllgathersOver(Transport& transport, const HostGrid* grid) {
  GroupedAllgather gather(transport, grid);
  for (int again = 0; again < 2; ++again) {
    const std::uint32_t operation = NextOperation();
    Gatherings gatherings;
    for (const std::size_t length : Lengths()) {
      gatherings.Add(transport, DType::kUInt8, length,
                     operation + static_cast<std::uint32_t>(gatherings.all.size()));
    }
    gather.Bind(gatherings.Items(), gatherings.bytes);
    RunCollective(gather, operation);
    EXPECT_TRUE(gather.Poll());
    for (std::size_t i = 0; i < gatherings.all.size(); ++i) {
      EXPECT_TRUE(gatherings.out[i] == gatherings.all[i].expected) << "item " << i;
    }
  }
  gather.Bind({}, {});
  RunCollective(gather, NextOperation());
}

void GroupedAllreduces(Transport& transport) { GroupedAllreducesOver(transport, nullptr); }

// A group, arrays by themselves (exchanged whole, in chunks, not at all), and a group again.
void GroupedAllreducesOver(Transport& transport, const HostGrid* grid) {
  GroupedAllreduce grouped(transport, grid);
  const std::vector<std::vector<std::size_t>> runs = {
      {17, 5, 300000}, {1000}, {300000}, {0}, {0, 0}, {64, 1, 0, 2000}};
  for (const std::vector<std::size_t>& run : runs) {
    const std::uint32_t operation = NextOperation();
    std::vector<Bytes> values, expected;
    std::vector<Array> arrays;
    for (const std::size_t elements : run) {
      const auto salt = operation + static_cast<std::uint32_t>(arrays.size());
      // Sums of integers are the same in every order.
      values.push_back(TestValues(DType::kInt32, elements, transport.rank(), salt));
      expected.push_back(ReferenceAllreduce(DType::kInt32, {.op = ReduceOp::kSum}, elements,
                                            transport.size(), salt));
      arrays.push_back({values.back().data(), values.back().data(),
                        static_cast<std::int64_t>(elements), DType::kInt32});
    }
    Collective& collective = grouped.Bind(arrays, {.op = ReduceOp::kSum});
    RunCollective(collective, operation);
    EXPECT_TRUE(collective.Poll());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(values[i] == expected[i]) << "array " << i << " of " << values.size();
    }
  }
}

void GroupedReduceScatters(Transport& transport) {
  GroupedReduceScatter scatter(transport);
  const auto ranks = static_cast<std::size_t>(transport.size());
  const auto self = static_cast<std::size_t>(transport.rank());
  for (const Reduction& reduction :
       {Reduction{ReduceOp::kSum, 0.5, 3.0}, Reduction{ReduceOp::kAverage, 1.0, 1.0}}) {
    const std::uint32_t operation = NextOperation();
    std::vector<Bytes> in, out, expected;
    std::vector<Array> arrays;
    std::vector<std::size_t> offsets;
    for (const std::size_t length : Lengths()) {
      const auto number = static_cast<std::uint32_t>(arrays.size());
      const DType dtype = std::vector{DType::kFloat32, DType::kInt64, DType::kFloat16}[number % 3];
      const std::size_t elements = length / SizeOf(dtype);
      std::vector<std::size_t> borders = {0};
      for (std::size_t r = 1; r < ranks; ++r) borders.push_back(elements * r * r / (ranks * ranks));
      borders.push_back(elements);
      in.push_back(TestValues(dtype, elements, transport.rank(), operation + number));
      const Bytes all =
          ReferenceAllreduce(dtype, reduction, elements, transport.size(), operation + number);
      const auto part = std::span(all).subspan(borders[self] * SizeOf(dtype),
                                               (borders[self + 1] - borders[self]) * SizeOf(dtype));
      expected.emplace_back(part.begin(), part.end());
      out.emplace_back(part.size(), std::byte{0xcd});
      arrays.push_back(
          {in.back().data(), out.back().data(), static_cast<std::int64_t>(elements), dtype});
      offsets.insert(offsets.end(), borders.begin(), borders.end());
    }
    scatter.Bind(arrays, offsets, reduction);
    RunCollective(scatter, operation);
    EXPECT_TRUE(scatter.Poll());
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(out[i] == expected[i]) << Name(reduction.op) << ", array " << i;
    }
  }
}

void SparseAllreduces(Transport& transport) {
  SparseAllreduce sparse(transport);
  const auto ranks = static_cast<std::size_t>(transport.size());
  for (const DType dtype : AllDTypes()) {
    if (dtype == DType::kBool) continue;
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage}) {
      for (const std::size_t entries : {std::size_t{0}, std::size_t{30}, std::size_t{30000}}) {
        const std::uint32_t operation = NextOperation();
        const Reduction reduction{op, 0.5, 3.0};
        Gatherings gatherings;
        gatherings.Add(transport, DType::kInt64, entries, operation);
        gatherings.Add(transport, dtype, entries, operation + 1);
        // An entry among zeros: what all-reducing it densely gives.
        TestArrays arrays(ranks, Bytes(gatherings.out[1].size()));
        arrays.front() = gatherings.all[1].expected;
        const auto items = gatherings.Items();
        sparse.Bind(items[0], items[1], gatherings.bytes, dtype, reduction);
        RunCollective(sparse, operation);
        EXPECT_TRUE(sparse.Poll());  // It scales once.
        EXPECT_TRUE(gatherings.out[0] == gatherings.all[0].expected) << entries << " entries";
        EXPECT_TRUE(gatherings.out[1] == ReferenceReduce(dtype, reduction, arrays))
            << Name(dtype) << " " << Name(op) << ", " << entries << " entries";
      }
    }
  }
}

}  // namespace weir::cases
