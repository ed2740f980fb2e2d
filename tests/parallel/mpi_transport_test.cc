// Additions of ops/mpi to the contract of a Transport. With one rank there is no
// MPI and most of it is skipped.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <vector>

#include "ops/mpi/transport.h"
#include "tests/parallel/job.h"

namespace weir {
namespace {

std::size_t Wait(Transport& transport, Transport::Request request) {
  for (;;) {
    if (const auto bytes = transport.Test(request)) return *bytes;
  }
}

TEST(MpiTransport, JobOfOneRankNeverInitialisesMpi) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  EXPECT_EQ(initialized != 0, JobTransport().size() > 1);
}

TEST(MpiTransport, KeepsItsRequestsApartWhateverTheOrder) {
  Transport& transport = JobTransport();
  if (transport.size() == 1) GTEST_SKIP();
  constexpr std::uint32_t kMessages = 200;
  const int next = (transport.rank() + 1) % transport.size();
  const int previous = (transport.rank() + transport.size() - 1) % transport.size();
  std::vector<std::uint32_t> out(kMessages), in(kMessages);
  std::vector<Transport::Request> sends, receives;
  const auto bytes_of = [](std::uint32_t& word) {
    return std::as_writable_bytes(std::span(&word, 1));
  };
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    out[i] = 1000 * static_cast<std::uint32_t>(transport.rank()) + i;
    // Sent last to first, received first to last: only the tags tell them apart.
    const std::uint32_t last = kMessages - 1 - i;
    receives.push_back(transport.Receive(previous, {77, i}, bytes_of(in[i])));
    out[last] = 1000 * static_cast<std::uint32_t>(transport.rank()) + last;
    sends.push_back(transport.Send(next, {77, last}, bytes_of(out[last])));
  }
  for (std::uint32_t i = kMessages; i-- > 0;) EXPECT_EQ(Wait(transport, receives[i]), 4u);
  for (const auto send : sends) EXPECT_EQ(Wait(transport, send), 4u);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(in[i], 1000 * static_cast<std::uint32_t>(previous) + i);
  }
}

TEST(MpiTransport, OperationNumbersMayWrapAround) {
  Transport& transport = JobTransport();
  if (transport.size() == 1) GTEST_SKIP();
  const int next = (transport.rank() + 1) % transport.size();
  const int previous = (transport.rank() + transport.size() - 1) % transport.size();
  for (const std::uint32_t operation : {0xfffffffeu, 0xffffffffu, 0u, 0x80000000u}) {
    std::byte out{42}, in{0};
    const auto receive = transport.Receive(previous, {operation, 0xffffffffu}, {&in, 1});
    const auto send = transport.Send(next, {operation, 0xffffffffu}, {&out, 1});
    EXPECT_EQ(Wait(transport, receive), 1u);
    EXPECT_EQ(Wait(transport, send), 1u);
    EXPECT_EQ(in, out);
  }
}

TEST(MpiTransport, CountsBytes) {
  Transport& transport = JobTransport();
  if (transport.size() == 1) GTEST_SKIP();
  const int next = (transport.rank() + 1) % transport.size();
  const int previous = (transport.rank() + transport.size() - 1) % transport.size();
  const std::uint64_t sent = transport.totals().sent_bytes,
                      received = transport.totals().received_bytes;
  std::vector<std::byte> out(100), in(500);
  const auto receive = transport.Receive(previous, {5, 0}, in);
  const auto send = transport.Send(next, {5, 0}, out);
  EXPECT_EQ(Wait(transport, receive), 100u);
  EXPECT_EQ(Wait(transport, send), 100u);
  EXPECT_EQ(transport.totals().sent_bytes - sent, 100u);
  EXPECT_EQ(transport.totals().received_bytes - received, 100u);
}

}  // namespace
}  // namespace weir
