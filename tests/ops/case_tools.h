#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/allreduce.h"
#include "tests/ops/reference.h"
#include "tests/ops/run_ranks.h"

namespace weir::cases {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kSmallChunk = 256;

/// A number that no other operation of this test program has under way: callers count alike.
inline std::uint32_t NextOperation() {
  thread_local std::uint32_t next = 0;
  return next++;
}

inline Bytes Message(std::size_t bytes, int rank, std::uint32_t salt) {
  return TestValues(DType::kUInt8, bytes, rank, salt);
}

/// What an all-reduce makes of TestValues with the operation's number as salt.
inline Bytes Allreduced(Transport& transport, Allreduce& allreduce, std::uint32_t operation,
                        DType dtype, const Reduction& reduction, std::size_t elements,
                        bool in_place) {
  const Bytes in = TestValues(dtype, elements, transport.rank(), operation);
  Bytes out = in_place ? in : Bytes(in.size(), std::byte{0xcd});
  allreduce.Bind(in_place ? out.data() : in.data(), out.data(), static_cast<std::int64_t>(elements),
                 dtype, reduction);
  RunCollective(allreduce, operation);
  EXPECT_TRUE(allreduce.Poll());
  return out;
}

}  // namespace weir::cases
