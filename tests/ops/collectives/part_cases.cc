// Collectives in which each rank gets a part of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "ops/collectives/alltoall.h"
#include "ops/collectives/reduce_scatter.h"
#include "tests/ops/collectives/case_tools.h"
#include "tests/ops/collectives/collective_cases.h"
#include "tests/ops/collectives/run_ranks.h"

namespace weir::cases {

void Alltoalls(Transport& transport) {
  Alltoall alltoall(transport);
  const auto ranks = static_cast<std::size_t>(transport.size());
  const int self = transport.rank();
  for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, std::size_t{1000},
                                 ChunkStream::kDefaultChunkBytes / 2 + 1}) {
    const std::uint32_t operation = NextOperation();
    // Some pairs have nothing to say to each other, some ranks none at all.
    const auto length = [&](int from, int to) {
      return unit * static_cast<std::size_t>(from % 3 == 2 ? 0 : (3 * from + 2 * to) % 4);
    };
    const auto message = [&](int from, int to) {
      return Message(length(from, to), 100 * from + to, operation);
    };
    std::vector<std::size_t> sent, received;
    Bytes in, expected;
    for (int peer = 0; peer < transport.size(); ++peer) {
      sent.push_back(length(self, peer));
      received.push_back(length(peer, self));
      const Bytes to = message(self, peer), from = message(peer, self);
      in.insert(in.end(), to.begin(), to.end());
      expected.insert(expected.end(), from.begin(), from.end());
    }
    Bytes out(expected.size());
    alltoall.Bind(in, sent, out, received);
    RunCollective(alltoall, operation);
    EXPECT_TRUE(alltoall.Poll());
    EXPECT_TRUE(out == expected) << unit << " bytes, " << ranks << " ranks";
  }
}

void ReduceScatters(Transport& transport) {
  ReduceScatter scatter(transport);
  scatter.set_chunk_bytes(kSmallChunk);
  const auto ranks = static_cast<std::size_t>(transport.size());
  for (const DType dtype : AllDTypes()) {
    const std::size_t size = SizeOf(dtype);
    const std::size_t several = (ChunkStream::kInFlight + 1) * kSmallChunk / size;
    for (const ReduceOp op : OpsOf(dtype)) {
      for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, std::size_t{17}, several}) {
        const std::uint32_t operation = NextOperation();
        std::vector<std::size_t> offsets = {0};
        for (std::size_t r = 0; r < ranks; ++r) {
          offsets.push_back(offsets.back() + unit * ((r + 1) % 3) + (r == 0 ? 1 : 0));
        }
        const Reduction reduction{op, dtype == DType::kBool ? 1.0 : 0.5, 1.0};
        const Bytes in = TestValues(dtype, offsets.back(), transport.rank(), operation);
        const Bytes all =
            ReferenceAllreduce(dtype, reduction, offsets.back(), transport.size(), operation);
        const auto self = static_cast<std::size_t>(transport.rank());
        Bytes out((offsets[self + 1] - offsets[self]) * size);
        scatter.Bind({.in = in.data(),
                      .out = out.data(),
                      .elements = offsets.back(),
                      .dtype = dtype,
                      .reduction = reduction},
                     offsets);
        RunCollective(scatter, operation);
        EXPECT_TRUE(scatter.Poll());
        EXPECT_TRUE(
            std::ranges::equal(out, std::span(all).subspan(offsets[self] * size, out.size())))
            << Name(dtype) << " " << Name(op) << ", unit " << unit << ", " << ranks << " ranks";
      }
    }
  }
}

void HugeAlltoall(Transport& transport) {
  const std::size_t bytes = (std::size_t{1} << 31) + 12345;
  const auto value = [](std::size_t i) { return static_cast<std::byte>((i >> 11) + i); };
  const auto last = static_cast<std::size_t>(transport.size()) - 1;
  const bool sends = transport.rank() == 0;
  const bool receives = transport.rank() == transport.size() - 1;
  std::vector<std::size_t> sent(last + 1), received(last + 1);
  // After the huge part another one, whose place is beyond 2^31 as well.
  sent[last] = sends ? bytes : 1;
  received[0] = receives ? bytes : 0;
  if (receives) std::fill(received.begin() + 1, received.end(), std::size_t{1});
  const std::size_t out_bytes = std::accumulate(received.begin(), received.end(), std::size_t{0});
  const auto in = std::make_unique_for_overwrite<std::byte[]>(sent[last]);
  const auto out = std::make_unique_for_overwrite<std::byte[]>(out_bytes);
  for (std::size_t i = 0; i < sent[last]; ++i) in[i] = value(i);
  Alltoall alltoall(transport);
  alltoall.Bind({in.get(), sent[last]}, sent, {out.get(), out_bytes}, received);
  RunCollective(alltoall, NextOperation());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < received[0]; ++i) wrong += out[i] != value(i);
  for (std::size_t i = received[0]; i < out_bytes; ++i) wrong += out[i] != value(0);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace weir::cases
