#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/collectives/allgather.h"
#include "ops/collectives/allreduce.h"
#include "tests/ops/arrays/reference.h"
#include "tests/ops/collectives/run_ranks.h"

namespace weir::cases {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kSmallChunk = 256;

/// Returns a number that no other operation of this test program uses now: callers count alike.
inline std::uint32_t NextOperation() {
  thread_local std::uint32_t next = 0;
  return next++;
}

inline Bytes Message(std::size_t bytes, int rank, std::uint32_t salt) {
  return TestValues(DType::kUInt8, bytes, rank, salt);
}

/// Every rank's part of an all-gather, and the expected result.
struct Gathering {
  std::vector<std::size_t> bytes;  ///< By rank.
  Bytes in;
  Bytes expected;
  std::size_t offset = 0;  ///< Place of `in` in it.
};

/// Takes `unit` elements from some ranks, twice as many or none from others, with this salt.
inline Gathering GatheringOf(const Transport& transport, DType dtype, std::size_t unit,
                             std::uint32_t salt) {
  Gathering gathering;
  for (int rank = 0; rank < transport.size(); ++rank) {
    const std::size_t elements = unit * static_cast<std::size_t>((rank + 1) % 3);
    const Bytes part = TestValues(dtype, elements, rank, salt);
    if (rank == transport.rank()) {
      gathering.in = part;
      gathering.offset = gathering.expected.size();
    }
    gathering.bytes.push_back(part.size());
    gathering.expected.insert(gathering.expected.end(), part.begin(), part.end());
  }
  return gathering;
}

/// Gathers from separate memory, and from its place in the result.
inline void ExpectAllgather(Transport& transport, Allgather& allgather, std::size_t unit) {
  for (const bool in_place : {false, true}) {
    const std::uint32_t operation = NextOperation();
    const Gathering gathering = GatheringOf(transport, DType::kUInt8, unit, operation);
    Bytes out(gathering.expected.size());
    std::span<const std::byte> in = gathering.in;
    if (in_place) {
      std::ranges::copy(in, out.begin() + static_cast<std::ptrdiff_t>(gathering.offset));
      in = std::span(out).subspan(gathering.offset, in.size());
    }
    allgather.Bind(in, out, gathering.bytes);
    RunCollective(allgather, operation);
    EXPECT_TRUE(allgather.Poll());
    EXPECT_TRUE(out == gathering.expected)
        << unit << " bytes, " << transport.size() << " ranks" << (in_place ? ", in place" : "");
  }
}

/// Returns an all-reduce of TestValues with the operation's number as salt.
inline Bytes Allreduced(Transport& transport, Allreduce& allreduce, std::uint32_t operation,
                        DType dtype, const Reduction& reduction, std::size_t elements,
                        bool in_place) {
  const Bytes in = TestValues(dtype, elements, transport.rank(), operation);
  Bytes out = in_place ? in : Bytes(in.size(), std::byte{0xcd});
  Collective& run = allreduce.Bind(in_place ? out.data() : in.data(), out.data(),
                                   static_cast<std::int64_t>(elements), dtype, reduction);
  RunCollective(run, operation);
  EXPECT_TRUE(run.Poll());
  return out;
}

}  // namespace weir::cases
