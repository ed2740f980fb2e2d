// UCX between threads of this process, each of them a rank with a context of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/transport/urgent_transport.h"
#include "ops/ucx/channel.h"
#include "ops/ucx/context.h"
#include "ops/ucx/library.h"
#include "ops/ucx/transport.h"
#include "ops/ucx/worker.h"
#include "tests/ops/collectives/collective_cases.h"
#include "tests/ops/collectives/hierarchical_cases.h"
#include "tests/ops/collectives/run_ranks.h"
#include "weir/error.h"

namespace weir::ucx {
namespace {

/// Makes a transport of one channel.
std::unique_ptr<Transport> OneChannel(std::unique_ptr<Worker> worker, int rank,
                                      const std::vector<std::string>& addresses) {
  std::vector<std::unique_ptr<Channel>> channels;
  channels.push_back(std::make_unique<Channel>(std::move(worker), addresses));
  return std::make_unique<Transport>(std::move(channels), rank);
}

/// Workers of ranks, which tell each other their addresses.
class Ranks {
 public:
  Ranks(int ranks, Reach reach, int channels = 1)
      : workers_(static_cast<std::size_t>(ranks)), addresses_(static_cast<std::size_t>(channels)) {
    const Library library = Library::Load("");
    for (auto& own : workers_) {
      const auto context = std::make_shared<Context>(library, reach);
      for (auto& addresses : addresses_) {
        own.push_back(std::make_unique<Worker>(context));
        addresses.push_back(own.back()->Address());
      }
    }
  }
  std::unique_ptr<weir::Transport> Endpoint(int rank) {
    auto& own = workers_[static_cast<std::size_t>(rank)];
    std::vector<std::unique_ptr<Channel>> channels;
    for (std::size_t i = 0; i < own.size(); ++i) {
      channels.push_back(std::make_unique<Channel>(std::move(own[i]), addresses_[i]));
    }
    return std::make_unique<Transport>(std::move(channels), rank);
  }

 private:
  std::vector<std::vector<std::unique_ptr<Worker>>> workers_;  ///< By rank and channel.
  std::vector<std::vector<std::string>> addresses_;            ///< By channel and rank.
};

void RunUcxRanks(int ranks, const std::function<void(weir::Transport&)>& body,
                 Reach reach = Reach::kThisHost, int channels = 1) {
  Ranks network(ranks, reach, channels);
  std::barrier all_done(ranks);
  RunRanksOver([&](int rank) { return network.Endpoint(rank); }, ranks,
               [&](weir::Transport& transport) {
                 body(transport);
                 // A rank that leaves is lost to those that still want something of it.
                 all_done.arrive_and_wait();
               });
}

std::size_t Await(weir::Transport& transport, weir::Transport::Request request) {
  while (true) {
    if (const auto bytes = transport.Test(request)) return *bytes;
    std::this_thread::yield();
  }
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct Case {
  const char* name;
  void (*run)(weir::Transport&);
};

class UcxCollectives : public testing::TestWithParam<std::tuple<Case, int>> {};

TEST_P(UcxCollectives, MatchTheReference) {
  const auto& [which, ranks] = GetParam();
  RunUcxRanks(ranks, which.run);
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, UcxCollectives,
    testing::Combine(
        testing::Values(
            Case{"Allreduces", cases::Allreduces}, Case{"LargeAllreduces", cases::LargeAllreduces},
            Case{"Allgathers", cases::Allgathers}, Case{"Alltoalls", cases::Alltoalls},
            Case{"ReduceScatters", cases::ReduceScatters}, Case{"Adasums", cases::Adasums},
            Case{"FrameExchanges", cases::FrameExchanges}, Case{"Broadcasts", cases::Broadcasts},
            Case{"GathersToRoot", cases::GathersToRoot}, Case{"AndReduces", cases::AndReduces},
            Case{"ManyAtOnce", cases::ManyAtOnce}, Case{"Reuse", cases::Reuse}),
        testing::Values(2, 3, 4)),
    [](const auto& one) {
      return std::string(std::get<0>(one.param).name) + "Ranks" +
             std::to_string(std::get<1>(one.param));
    });

TEST(UcxTransport, AMessageToOneselfArrives) {
  Ranks network(1, Reach::kThisHost);
  const auto transport = network.Endpoint(0);
  const std::string text = "to myself";
  std::array<std::byte, 20> buffer{};
  const auto received = transport->Receive(0, {.operation = 3, .chunk = 1}, buffer);
  const auto sent = transport->Send(0, {.operation = 3, .chunk = 1}, BytesOf(text));
  EXPECT_EQ(Await(*transport, received), text.size());
  EXPECT_EQ(Await(*transport, sent), text.size());
  EXPECT_EQ(std::memcmp(buffer.data(), text.data(), text.size()), 0);
  EXPECT_EQ(transport->totals().sent_bytes, text.size());
  EXPECT_EQ(transport->totals().received_messages, 1);
}

TEST(UcxTransport, SourceOperationAndChunkTellMessagesApart) {
  RunUcxRanks(3, [](weir::Transport& transport) {
    const int rank = transport.rank();
    const std::vector<Tag> tags = {{.operation = 1, .chunk = 0},
                                   {.operation = 0, .chunk = 1},
                                   {.operation = 1U << 30, .chunk = 0},
                                   {.operation = 1, .chunk = 0xffff}};
    const auto value = [&](int from, std::size_t i) {
      return std::byte(static_cast<std::uint8_t>(static_cast<std::size_t>(from) * 10 + i));
    };
    std::vector<std::array<std::byte, 1>> out(tags.size()), in(3 * tags.size());
    std::vector<weir::Transport::Request> sends, receives;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      out[i][0] = value(rank, i);
      for (int peer = 0; peer < 3; ++peer) sends.push_back(transport.Send(peer, tags[i], out[i]));
    }
    for (std::size_t i = tags.size(); i-- > 0;) {
      for (std::size_t peer = 3; peer-- > 0;) {
        receives.push_back(
            transport.Receive(static_cast<int>(peer), tags[i], in[peer * tags.size() + i]));
      }
    }
    for (const auto request : receives) EXPECT_EQ(Await(transport, request), 1);
    for (const auto request : sends) EXPECT_EQ(Await(transport, request), 1);
    for (int peer = 0; peer < 3; ++peer) {
      for (std::size_t i = 0; i < tags.size(); ++i) {
        EXPECT_EQ(in[static_cast<std::size_t>(peer) * tags.size() + i][0], value(peer, i));
      }
    }
  });
}

// Over sockets, with the two channels that ranks of several hosts have.
TEST(UcxTransport, SocketsAndTwoChannelsGiveTheSame) {
  setenv("UCX_TLS", "tcp,self", 1);
  RunUcxRanks(
      3,
      [](weir::Transport& transport) {
        cases::LargeAllreduces(transport);
        UrgentTransport urgent(transport);
        cases::AndReduces(urgent);
        cases::FrameExchanges(transport);
        cases::Broadcasts(urgent);
      },
      Reach::kOtherHosts, 2);
  unsetenv("UCX_TLS");
}

TEST(UcxTransport, AMessageThatIsTooLongIsCorrupt) {
  RunUcxRanks(2, [](weir::Transport& transport) {
    const std::string text = "longer than allowed";
    std::array<std::byte, 4> buffer{};
    if (transport.rank() == 1) {
      Await(transport, transport.Send(0, {}, BytesOf(text)));
      return;
    }
    const auto request = transport.Receive(1, {}, buffer);
    EXPECT_THAT([&] { Await(transport, request); },
                testing::ThrowsMessage<Corrupt>(
                    testing::StartsWith("rank 1 sent a message longer than the 4 bytes allowed")));
    EXPECT_THROW(transport.Send(1, {}, BytesOf(text)), PeerLost);
  });
}

// What has been cancelled does not reach its buffer any more, whatever else the process does.
TEST(UcxTransport, AnotherFollowsOneThatWasCancelled) {
  const auto context = std::make_shared<Context>(Library::Load(""), Reach::kThisHost);
  const auto other_context = std::make_shared<Context>(Library::Load(""), Reach::kThisHost);
  for (int epoch = 0; epoch < 3; ++epoch) {
    SCOPED_TRACE(epoch);
    auto worker = std::make_unique<Worker>(context),
         other = std::make_unique<Worker>(other_context);
    const std::vector<std::string> addresses = {worker->Address(), other->Address()};
    const auto here_owner = OneChannel(std::move(worker), 0, addresses);
    const auto there_owner = OneChannel(std::move(other), 1, addresses);
    Transport &here = *here_owner, &there = *there_owner;
    std::vector<std::byte> in(8 << 20), out(8 << 20, std::byte{7});
    const auto sent = there.Send(0, {}, out);
    const auto matched = here.Receive(1, {}, in);
    while (in.front() != std::byte{7}) {  // Until it moves.
      ASSERT_EQ(there.Test(sent), std::nullopt);
      ASSERT_EQ(here.Test(matched), std::nullopt);
    }
    here.Cancel(matched);
    std::ranges::fill(in, std::byte{9});
    const Worker next(context);
    for (int i = 0; i < 100; ++i) {
      next.api().worker_progress(next.get());
      try {
        if (there.Test(sent)) break;
      } catch (const PeerLost&) {
        break;
      }
    }
    EXPECT_EQ(std::ranges::count(in, std::byte{9}), std::ssize(in));
    EXPECT_THROW(here.Receive(1, {}, in), PeerLost);
    EXPECT_THROW(here.Send(1, {}, in), PeerLost);
  }
}

// A server stops listening to a group while the job goes on.
TEST(UcxTransport, AReceiveThatNothingHasMatchedIsTakenBack) {
  RunUcxRanks(2, [](weir::Transport& transport) {
    const int peer = 1 - transport.rank();
    std::array<std::byte, 4> never{}, in{};
    const std::array<std::byte, 4> out = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    const auto open = transport.Receive(peer, {.operation = 8, .chunk = 0}, in);
    transport.Cancel(transport.Receive(peer, {.operation = 9, .chunk = 0}, never));
    const auto sent = transport.Send(peer, {.operation = 8, .chunk = 0}, out);
    EXPECT_EQ(Await(transport, open), out.size());
    EXPECT_EQ(Await(transport, sent), out.size());
    EXPECT_EQ(in, out);
  });
}

/// Returns the number of this process's sockets that listen.
int ListeningSockets() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int listens = 0;
    socklen_t size = sizeof listens;
    const int fd = std::stoi(entry.path().filename());
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0) count += listens;
  }
  return count;
}

TEST(UcxContext, RanksOfOneHostListenNowhere) {
  const Library library = Library::Load("");
  const int before = ListeningSockets();
  const Worker here(std::make_shared<Context>(library, Reach::kThisHost));
  EXPECT_EQ(ListeningSockets(), before);
  const Worker anywhere(std::make_shared<Context>(library, Reach::kOtherHosts));
  EXPECT_GT(ListeningSockets(), before);
}

TEST(UcxLibrary, SaysWhyOneIsNotUsable) {
  EXPECT_THAT(Library::Load("/nowhere/libucp.so.0").trouble(), testing::HasSubstr("/nowhere"));
  const Library other = Library::Load("libm.so.6");
  EXPECT_EQ(other.trouble(), "libm.so.6 is not UCX: it has no ucp_get_version");
  EXPECT_EQ(other.api(), nullptr);
  EXPECT_THAT([&] { Context(other, Reach::kThisHost); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("is not UCX")));
}

}  // namespace
}  // namespace weir::ucx
