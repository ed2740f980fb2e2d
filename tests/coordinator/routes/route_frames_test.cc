// Traffic of routes: the parts in a frame, and its receiver (docs/wire-format.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/wire/frame.h"
#include "coordinator/routes/host_route.h"
#include "coordinator/routes/push_pull_route.h"
#include "coordinator/routes/server_route.h"
#include "coordinator/routes/split_route.h"
#include "coordinator/servers/group_servers.h"
#include "tests/compression/wire/wire_page.h"
#include "tests/ops/collectives/run_ranks.h"
#include "tests/ops/transport/forwarding_transport.h"

namespace weir::route_frames_test {
namespace {

using test::ExpectAsOnThePage;
using test::Hex;
using Bytes = std::vector<std::byte>;

struct Message {
  int from;
  int to;
  Bytes bytes;
};
using Messages = std::vector<Message>;

/// Keeps what a rank sends, in its order.
class KeepingTransport final : public ForwardingTransport {
 public:
  KeepingTransport(std::unique_ptr<Transport> inner, std::vector<Messages>& sent)
      : ForwardingTransport(std::move(inner)), sent_(sent[static_cast<std::size_t>(rank())]) {}

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    sent_.push_back({rank(), peer, {data.begin(), data.end()}});
    return ForwardingTransport::Send(peer, tag, data);
  }

 private:
  Messages& sent_;
};

/// The tensors w, b and v of 2, 1 and 2 elements, which ranks 0, 1 and 0 add up. The gradient of
/// rank r is r + 1 everywhere in w, -(r + 1) in b and 2 * (r + 1) in v.
class Bucket {
 public:
  Bucket(int rank, const CompressionOptions& options, const HostGrid* hosts = nullptr,
         bool halves = false) {
    step_ = {.step = 6, .epoch = 3, .codec = FindCompressor(options.at("compressor")).codec};
    step_.hosts = hosts;
    step_.halves_inside_hosts = halves;
    step_.contexts.push_back({.step = 6});
    const auto value = static_cast<float>(rank + 1);
    gradients_ = {{value, value}, {-value}, {2 * value, 2 * value}};
    std::vector<GradientSlice> slices;
    for (std::size_t t = 0; t < gradients_.size(); ++t) {
      const std::string name(1, "wbv"[t]);
      const Shape shape{static_cast<std::int64_t>(gradients_[t].size())};
      for (auto* list : {&compressors_, &answering_}) {
        list->push_back(MakeCompressor(options, {name, shape}));
      }
      GradientSlice slice;
      slice.name = name;
      slice.elements = gradients_[t].size();
      slice.gradient = gradients_[t].data();
      slice.Use(*compressors_[t]);
      slice.server = static_cast<int>(t % 2);
      if (slice.server == rank) slice.answering = answering_[t].get();
      slices.push_back(std::move(slice));
    }
    slices_ = std::make_unique<GradientSlices>("bucket", 2, std::move(slices), step_);
  }
  GradientSlices& operator*() { return *slices_; }
  /// Before a route is made.
  void ServeBy(const GroupServers& servers, std::vector<StepContext> contexts) {
    step_.servers = &servers;
    step_.contexts = std::move(contexts);
    for (GradientSlice& slice : slices_->all()) slice.server = 0;
  }

 private:
  GroupStep step_;
  std::vector<std::unique_ptr<Compressor>> compressors_;
  std::vector<std::unique_ptr<Compressor>> answering_;
  std::vector<std::vector<float>> gradients_;
  std::unique_ptr<GradientSlices> slices_;
};

/// One step of a bucket by a route. A rank whose step is `empty` takes neither the first stage nor
/// the last.
void Step(Route& route, bool empty = false) {
  route.Prepare(empty);
  std::uint32_t exchange = 0;
  const auto stages = route.stages();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s] == BucketStage::kExchange) {
      RunCollective(*route.Bind(exchange), exchange + 1);
      ++exchange;
    } else if (!empty || (s > 0 && s + 1 < stages.size())) {
      route.Run(stages[s]);
    }
  }
}

/// Returns the messages of a job's ranks while each does the same, by rank.
std::vector<Messages> Sent(int ranks, const std::function<void(Transport&)>& body) {
  std::vector<Messages> sent(static_cast<std::size_t>(ranks));
  RunRanks(ranks, body, [&sent](std::unique_ptr<Transport> inner) {
    return std::make_unique<KeepingTransport>(std::move(inner), sent);
  });
  return sent;
}

/// Behind the header of a frame of the bucket, which is checked.
std::span<const std::byte> PayloadOf(const Bytes& frame, CodecId codec) {
  const std::span<const std::byte> payload = ReadFrame(frame, {.codec = codec,
                                                               .epoch = 3,
                                                               .bucket = 2,
                                                               .step = 6,
                                                               .elements = 5,
                                                               .max_payload_bytes = 1000});
  return payload;
}

TEST(PushPullFrames, HaveThePartsOfTheirServerAndSoHaveItsAnswers) {
  const auto sent = Sent(2, [](Transport& transport) {
    Bucket bucket(transport.rank(), {{"compressor", "fp16"}});
    PushPullRoute route(*bucket, transport);
    Step(route);
  });
  ASSERT_EQ(sent[0].size(), 2u);
  ASSERT_EQ(sent[1].size(), 2u);
  const auto payload = [&](int rank, std::size_t message) {
    return PayloadOf(sent[static_cast<std::size_t>(rank)][message].bytes, CodecId::kFloat16);
  };
  ExpectAsOnThePage(payload(0, 0), "00 00 bc");
  ExpectAsOnThePage(payload(1, 0), "00 00 40 00 40 00 44 00 44");
  ExpectAsOnThePage(payload(0, 1), "00 00 3e 00 3e 00 42 00 42");
  ExpectAsOnThePage(payload(1, 1), "00 00 be");
}

TEST(PushPullFrames, OfARankThatHasJoinedAreEmptyAndItAnswersStill) {
  const auto sent = Sent(2, [](Transport& transport) {
    Bucket bucket(transport.rank(), {{"compressor", "fp16"}});
    PushPullRoute route(*bucket, transport);
    Step(route, /*empty=*/transport.rank() == 1);
  });
  ASSERT_EQ(sent[1].size(), 2u);
  EXPECT_TRUE(PayloadOf(sent[1][0].bytes, CodecId::kFloat16).empty());
  EXPECT_EQ(Hex(PayloadOf(sent[1][1].bytes, CodecId::kFloat16)), "00 00 b8");  // -1 / 2.
}

TEST(PushPullFrames, GoToNoRankThatHasNothingToAddUp) {
  const auto sent = Sent(3, [](Transport& transport) {
    Bucket bucket(transport.rank(), {{"compressor", "fp16"}});
    PushPullRoute route(*bucket, transport);
    Step(route);
  });
  // To ranks 0 and 1, and as such to all others.
  EXPECT_EQ(sent[0].size(), 3u);
  EXPECT_EQ(sent[1].size(), 3u);
  EXPECT_EQ(sent[2].size(), 2u);
  for (const Message& message : sent[2]) EXPECT_LT(message.to, 2);
}

// Rank 1 is a server and adds up all of it; it answers nothing here.
TEST(ServerFrames, BeginWithTheLearningRatesOfTheStepAndTheOneBefore) {
  const auto sent = Sent(2, [](Transport& transport) {
    if (transport.rank() == 1) return;
    ServerLinks links(transport, /*servers=*/1, [] {});
    const GroupServers servers{.links = &links, .first_number = 0, .parameter_groups = 2};
    Bucket bucket(/*rank=*/0, {{"compressor", "fp16"}});
    bucket.ServeBy(servers, {{.learning_rate = 0.25f, .previous_learning_rate = 0.5f},
                             {.learning_rate = 1.0f, .previous_learning_rate = 2.0f}});
    ServerRoute route(*bucket);
    route.Prepare(/*empty=*/false);
    route.Run(BucketStage::kCompress);
    Collective& exchange = *route.Bind(0);
    exchange.Start(1);
    exchange.Cancel();
  });
  ASSERT_EQ(sent[0].size(), 1u);
  EXPECT_EQ(sent[0][0].to, 1);
  ExpectAsOnThePage(PayloadOf(sent[0][0].bytes, CodecId::kFloat16),
                    "00 00 00 80 3e 00 00 80 3f 00 00 00 3f 00 00 00 40 "
                    "00 3c 00 3c 00 bc 00 40 00 40");
}

/// Ranks 0 and 1 on one host, 2 and 3 on another.
std::vector<Messages> SentByHosts(bool halves) {
  return Sent(4, [halves](Transport& transport) {
    const HostGrid grid = HostGrid::Of(std::vector<int>{0, 0, 1, 1}, transport.rank()).value();
    Bucket bucket(transport.rank(),
                  {{"compressor", "onebit"}, {"scaling", "true"}, {"min_elements", "0"}}, &grid,
                  halves);
    HostRoute route(*bucket, transport, grid);
    Step(route);
  });
}

TEST(HierarchicalFrames, OneAHostCrossesAndAllAreHandedOnByHost) {
  const auto sent = SentByHosts(/*halves=*/false);
  const Bytes* frames[2] = {};
  for (const int first : {0, 2}) {
    for (const Message& message : sent[static_cast<std::size_t>(first)]) {
      if (message.to == 2 - first) frames[first / 2] = &message.bytes;
    }
    ASSERT_NE(frames[first / 2], nullptr);
    EXPECT_EQ(std::ranges::count(sent[static_cast<std::size_t>(first)], 2 - first, &Message::to),
              1);
  }
  // The averages of the host are 1.5, -1.5 and 3, and 3.5, -3.5 and 7.
  ExpectAsOnThePage(PayloadOf(*frames[0], CodecId::kOneBit),
                    "00 00 00 c0 3f 00 00 00 00 00 00 c0 3f 01 00 00 00 00 00 40 40 00 00 00 00");
  ExpectAsOnThePage(PayloadOf(*frames[1], CodecId::kOneBit),
                    "00 00 00 60 40 00 00 00 00 00 00 60 40 01 00 00 00 00 00 e0 40 00 00 00 00");
  for (const std::size_t first : {0u, 2u}) {
    const Messages& messages = sent[first];
    ASSERT_GE(messages.size(), 2u);
    for (std::size_t host = 0; host < 2; ++host) {
      const Message& handed_on = messages[messages.size() - 2 + host];
      EXPECT_EQ(handed_on.to, static_cast<int>(first) + 1);
      EXPECT_EQ(Hex(handed_on.bytes), Hex(*frames[host]));
    }
    // A rank that is not the first on its host sends only to the first.
    for (const Message& message : sent[first + 1]) {
      EXPECT_EQ(message.to, static_cast<int>(first));
    }
  }
}

TEST(HierarchicalFrames, InsideAHostArraysTravelAsFp32OrFp16) {
  // Rank 0 owns all of so short an array: rank 1 sends it its own and hears the average.
  const auto exact = SentByHosts(/*halves=*/false);
  ASSERT_EQ(exact[1].size(), 1u);
  ExpectAsOnThePage(exact[1][0].bytes,
                    "00 00 00 40 00 00 00 40 00 00 00 c0 00 00 80 40 00 00 80 40");
  const auto halves = SentByHosts(/*halves=*/true);
  ASSERT_EQ(halves[1].size(), 1u);
  ExpectAsOnThePage(halves[1][0].bytes, "00 40 00 40 00 c0 00 44 00 44");
  EXPECT_EQ(halves[0][0].to, 1);
  ExpectAsOnThePage(halves[0][0].bytes, "00 3e 00 3e 00 be 00 42 00 42");
}

TEST(SplitFrames, HaveWhatTheirOwnerHasOfTheTensors) {
  const auto sent = Sent(2, [](Transport& transport) {
    Bucket bucket(transport.rank(), {{"compressor", "topk"}, {"k", "1"}, {"min_elements", "0"}});
    SplitRoute route(*bucket, transport);
    Step(route);
  });
  ASSERT_EQ(sent[0].size(), 2u);
  ASSERT_EQ(sent[1].size(), 2u);
  const auto payload = [&](int rank, std::size_t message) {
    return PayloadOf(sent[static_cast<std::size_t>(rank)][message].bytes, CodecId::kTopK);
  };
  // Rank 0 owns w and b, rank 1 v.
  ExpectAsOnThePage(payload(0, 0), "00 00 f2 00 78 00 00");
  ExpectAsOnThePage(payload(1, 0), "00 00 f2 00 78 00 00 00 f2 00 f8");
  ExpectAsOnThePage(payload(0, 1), "00 10 00 00 00 40 40 00 00 00 00 10 00 00 00 40 c0");
  ExpectAsOnThePage(payload(1, 1), "00 10 00 00 00 c0 40 00 00 00 00");
}

}  // namespace
}  // namespace weir::route_frames_test
