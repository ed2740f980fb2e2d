#include "tests/ops/collectives/collective_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/collectives/allgather.h"
#include "ops/collectives/allreduce.h"
#include "ops/collectives/alltoall.h"
#include "ops/collectives/and_reduce.h"
#include "ops/collectives/broadcast.h"
#include "ops/exchanges/broadcast_bytes.h"
#include "ops/exchanges/frame_exchange.h"
#include "ops/exchanges/gather_to_root.h"
#include "tests/ops/arrays/reference.h"
#include "tests/ops/collectives/case_tools.h"
#include "tests/ops/collectives/run_ranks.h"

namespace weir::cases {

namespace {

void ExpectAllreduce(Transport& transport, Allreduce& allreduce, DType dtype,
                     const Reduction& reduction, std::size_t elements, bool in_place) {
  const std::uint32_t operation = NextOperation();
  const Bytes out =
      Allreduced(transport, allreduce, operation, dtype, reduction, elements, in_place);
  // EXPECT_TRUE, since printing the bytes helps nobody.
  EXPECT_TRUE(out == ReferenceAllreduce(dtype, reduction, elements, transport.size(), operation))
      << Name(dtype) << " " << Name(reduction.op) << ", " << elements << " elements, "
      << transport.size() << " ranks" << (in_place ? ", in place" : "");
}

}  // namespace

void Allreduces(Transport& transport) {
  Allreduce allreduce(transport);
  allreduce.set_chunk_bytes(kSmallChunk);
  const auto ranks = static_cast<std::size_t>(transport.size());
  for (const DType dtype : AllDTypes()) {
    const std::size_t chunk = kSmallChunk / SizeOf(dtype);
    const std::size_t several = (ChunkStream::kInFlight + 1) * chunk * ranks;
    const std::size_t whole = Allreduce::kWholeBytes / SizeOf(dtype);
    for (const ReduceOp op : OpsOf(dtype)) {
      for (const std::size_t elements :
           {std::size_t{0}, std::size_t{1}, std::size_t{17}, whole, whole + 1, several - 1,
            several + 1, several + chunk / 2}) {
        for (const bool in_place : {true, false}) {
          ExpectAllreduce(transport, allreduce, dtype, {op, 1.0, 1.0}, elements, in_place);
        }
      }
    }
  }
}

void ScaledAllreduces(Transport& transport) {
  Allreduce allreduce(transport);
  allreduce.set_chunk_bytes(kSmallChunk);
  for (const DType dtype : AllDTypes()) {
    if (dtype == DType::kBool) continue;
    for (const ReduceOp op : OpsOf(dtype)) {
      for (const std::size_t elements : {std::size_t{100}, std::size_t{9000}}) {
        ExpectAllreduce(transport, allreduce, dtype, {op, 0.25, 3.0}, elements, true);
      }
    }
  }
}

void LargeAllreduces(Transport& transport) {
  Allreduce allreduce(transport);
  const std::size_t chunks =
      (ChunkStream::kInFlight + 1) * static_cast<std::size_t>(transport.size());
  const std::size_t elements = chunks * ChunkStream::kDefaultChunkBytes / 4 + 1001;
  ExpectAllreduce(transport, allreduce, DType::kFloat32, {}, elements, true);
  ExpectAllreduce(transport, allreduce, DType::kFloat16, {}, 2 * elements, false);
}

void ChunksOfEitherSize(Transport& transport) {
  Allreduce allreduce(transport);
  const auto ranks = static_cast<std::size_t>(transport.size());
  // Results come in both halves of an all-reduce, a part from each other rank.
  const std::uint64_t per_chunk = 2 * (ranks - 1);
  constexpr std::size_t kPart = 2 * ChunkStream::kLargeChunkBytes;
  for (const std::size_t chunk : {ChunkStream::kLargeChunkBytes, ChunkStream::kDefaultChunkBytes}) {
    const std::uint64_t before = transport.totals().sent_messages;
    allreduce.set_chunk_bytes(chunk);
    ExpectAllreduce(transport, allreduce, DType::kFloat32, {}, ranks * kPart / sizeof(float), true);
    EXPECT_EQ(transport.totals().sent_messages - before, per_chunk * kPart / chunk);
  }
}

void Allgathers(Transport& transport) {
  Allgather allgather(transport);
  for (const std::size_t unit :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, ChunkStream::kDefaultChunkBytes + 1}) {
    ExpectAllgather(transport, allgather, unit);
  }
}

void FrameExchanges(Transport& transport) {
  constexpr std::size_t kBound = 100000;
  FrameExchange exchange(transport, kBound);
  for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, std::size_t{50}, kBound}) {
    const std::uint32_t operation = NextOperation();
    const auto frame_of = [&](int rank) {
      const std::size_t length = std::min(kBound, unit * static_cast<std::size_t>(rank % 3));
      return Message(length, rank, operation);
    };
    const Bytes own = frame_of(transport.rank());
    exchange.Bind(own);
    RunCollective(exchange, operation);
    ASSERT_EQ(exchange.frames().size(), static_cast<std::size_t>(transport.size()));
    for (int rank = 0; rank < transport.size(); ++rank) {
      const auto frame = exchange.frames()[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(std::ranges::equal(frame, frame_of(rank))) << "frame of rank " << rank;
    }
  }
}

void FramesForEach(Transport& transport) {
  constexpr std::size_t kBound = 4000;
  FrameExchange exchange(transport, kBound);
  for (int run = 0; run < 3; ++run) {
    const std::uint32_t operation = NextOperation();
    const auto frame_of = [&](int from, int to) {
      const auto length = static_cast<std::size_t>(1000 * run + 100 * from + 7 * to) % kBound;
      return Message(length, 10 * from + to, operation);
    };
    std::vector<Bytes> own;
    for (int to = 0; to < transport.size(); ++to) own.push_back(frame_of(transport.rank(), to));
    exchange.BindEach(std::vector<std::span<const std::byte>>(own.begin(), own.end()));
    RunCollective(exchange, operation);
    for (int from = 0; from < transport.size(); ++from) {
      const auto frame = exchange.frames()[static_cast<std::size_t>(from)];
      EXPECT_TRUE(std::ranges::equal(frame, frame_of(from, transport.rank())))
          << "frame from rank " << from;
    }
  }
}

void Broadcasts(Transport& transport) {
  Broadcast broadcast(transport);
  for (int root = 0; root < transport.size(); ++root) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{777},
                                    5 * ChunkStream::kDefaultChunkBytes + 3}) {
      const std::uint32_t operation = NextOperation();
      const Bytes expected = Message(bytes, root, operation);
      Bytes data = transport.rank() == root ? expected : Bytes(bytes);
      broadcast.Bind(data, root);
      RunCollective(broadcast, operation);
      EXPECT_TRUE(data == expected) << bytes << " bytes from root " << root;
    }
  }
}

void BroadcastsOfUnknownLength(Transport& transport) {
  constexpr std::size_t kBound = 5000;
  BroadcastBytes broadcast(transport, kBound);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{42}, kBound}) {
    const std::uint32_t operation = NextOperation();
    const Bytes expected = Message(bytes, 0, operation);
    broadcast.Bind(transport.rank() == 0 ? std::span<const std::byte>(expected)
                                         : std::span<const std::byte>());
    RunCollective(broadcast, operation);
    EXPECT_TRUE(std::ranges::equal(broadcast.message(), expected)) << bytes << " bytes";
  }
}

void GathersToRoot(Transport& transport) {
  constexpr std::size_t kBound = 5000;
  GatherToRoot gather(transport, kBound);
  for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, std::size_t{42}, kBound}) {
    const std::uint32_t operation = NextOperation();
    const auto message_of = [&](int rank) {
      const std::size_t length = std::min(kBound, unit * static_cast<std::size_t>(rank % 3));
      return Message(length, rank, operation);
    };
    const Bytes own = message_of(transport.rank());
    gather.Bind(own);
    RunCollective(gather, operation);
    if (transport.rank() != 0) {
      EXPECT_TRUE(gather.messages().empty());
      continue;
    }
    std::vector<int> heard;
    for (const GatherToRoot::Said& said : gather.messages()) {
      for (const auto [first, count] : said.ranks) {
        for (int rank = first; rank < first + count; ++rank) {
          heard.push_back(rank);
          EXPECT_TRUE(std::ranges::equal(said.message, message_of(rank))) << "of rank " << rank;
        }
      }
    }
    std::ranges::sort(heard);
    std::vector<int> all(static_cast<std::size_t>(transport.size()));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(heard, all);
    EXPECT_TRUE(unit != 0 || gather.messages().size() == 1) << "equal ones are one";
  }
}

void AndReduces(Transport& transport) {
  AndReduce reduce(transport);
  for (const std::size_t words : {1, 2, 16, 100, 0}) {
    const std::uint32_t operation = NextOperation();
    std::vector<std::uint64_t> mine(words), expected(words, ~std::uint64_t{0});
    for (int rank = 0; rank < transport.size(); ++rank) {
      for (std::size_t i = 0; i < words; ++i) {
        // Every rank clears bits of its own, and most bits are left.
        const std::uint64_t bits =
            ~(std::uint64_t{1} << ((static_cast<std::size_t>(rank) * 7 + i) % 64));
        expected[i] &= bits;
        if (rank == transport.rank()) mine[i] = bits;
      }
    }
    reduce.Bind(mine);
    RunCollective(reduce, operation);
    EXPECT_EQ(mine, expected);
  }
}

void ManyAtOnce(Transport& transport) {
  constexpr std::size_t kCount = 12;
  const int size = transport.size();
  struct Run {
    std::shared_ptr<Collective> collective;
    std::uint32_t operation = 0;
    Bytes input;  ///< For those that do not work in place.
    Bytes data;
    Bytes expected;
  };
  std::vector<Run> runs(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    Run& run = runs[i];
    run.operation = NextOperation();
    const std::size_t bytes = 4 * (i * 3000 + 5);
    if (i % 3 == 0) {
      const auto allreduce = std::make_shared<Allreduce>(transport);
      allreduce->set_chunk_bytes(kSmallChunk);
      run.data = TestValues(DType::kFloat32, bytes / 4, transport.rank(), run.operation);
      run.expected = ReferenceAllreduce(DType::kFloat32, {}, bytes / 4, size, run.operation);
      Collective& chosen = allreduce->Bind(run.data.data(), run.data.data(),
                                           static_cast<std::int64_t>(bytes / 4), DType::kFloat32);
      run.collective = std::shared_ptr<Collective>(allreduce, &chosen);
    } else if (i % 3 == 1) {
      auto alltoall = std::make_unique<Alltoall>(transport);
      const std::vector<std::size_t> lengths(static_cast<std::size_t>(size), bytes);
      for (int r = 0; r < size; ++r) {
        const Bytes part = Message(bytes, r, run.operation);
        run.expected.insert(run.expected.end(), part.begin(), part.end());
        const Bytes own = Message(bytes, transport.rank(), run.operation);
        run.input.insert(run.input.end(), own.begin(), own.end());
      }
      run.data.resize(run.expected.size());
      alltoall->Bind(run.input, lengths, run.data, lengths);
      run.collective = std::move(alltoall);
    } else {
      const int root = static_cast<int>(i) % size;
      auto broadcast = std::make_unique<Broadcast>(transport);
      run.expected = Message(bytes, root, run.operation);
      run.data = transport.rank() == root ? run.expected : Bytes(bytes);
      broadcast->Bind(run.data, root);
      run.collective = std::move(broadcast);
    }
  }
  std::vector<std::size_t> order(kCount);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(transport.rank())));
  for (const std::size_t i : order) {
    runs[i].collective->Start(runs[i].operation);
    runs[order[0]].collective->Poll();
  }
  std::size_t left = kCount;
  while (left > 0) {
    left = 0;
    for (Run& run : runs) left += run.collective->Poll() ? 0u : 1u;
    std::this_thread::yield();
  }
  for (const Run& run : runs) EXPECT_TRUE(run.data == run.expected) << run.operation;
}

void Reuse(Transport& transport) {
  Allreduce allreduce(transport);
  allreduce.set_chunk_bytes(kSmallChunk);
  for (const std::size_t elements : {50000, 10, 7000, 0, 60001, 1}) {
    ExpectAllreduce(transport, allreduce, DType::kFloat32, {}, elements, true);
    ExpectAllreduce(transport, allreduce, DType::kInt8, {}, elements, false);
  }
}

void HugeAllreduce(Transport& transport) {
  const std::size_t elements = (std::size_t{1} << 31) + 12345;
  const auto value = [](std::size_t i, int rank) {
    return static_cast<std::uint8_t>((i >> 11) + i + 3 * static_cast<std::size_t>(rank));
  };
  const auto data = std::make_unique_for_overwrite<std::uint8_t[]>(elements);
  for (std::size_t i = 0; i < elements; ++i) data[i] = value(i, transport.rank());
  Allreduce allreduce(transport);
  RunCollective(
      allreduce.Bind(data.get(), data.get(), static_cast<std::int64_t>(elements), DType::kUInt8),
      NextOperation());
  const int size = transport.size();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const int first = value(i, 0);
    wrong += data[i] != static_cast<std::uint8_t>(first * size + 3 * size * (size - 1) / 2);
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace weir::cases
