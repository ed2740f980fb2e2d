#include "coordinator/negotiation/request.h"

#include <gtest/gtest.h>

#include <random>

#include "weir/error.h"

namespace weir {
namespace {

std::vector<Request> SomeRequests() {
  Request plain{.kind = RequestKind::kAllgather,
                .name = "layer/weight",
                .dtype = DType::kInt16,
                .shape = Shape{3, 0, 5},
                .op = ReduceOp::kMax,
                .prescale = 0.5,
                .postscale = -2.0,
                .root = 7,
                .gpu = "GPU-1",
                .gpu_alone = true};
  Request group{.kind = RequestKind::kGroup, .name = "optimizer"};
  group.members = {{"a", DType::kFloat16, Shape{4}}, {"b", DType::kFloat32, Shape{}}};
  group.settings = {{"compressor", "dgc"}, {"density", "0.001"}};
  group.slots = 4;
  const Request parts{.kind = RequestKind::kAlltoall,
                      .name = "tokens",
                      .shape = Shape{8},
                      .splits = {1, 0, std::int64_t{1} << 40}};
  return {plain, group, parts};
}

TEST(Request, SurvivesTheWire) {
  const std::vector<Request> requests = SomeRequests();
  EXPECT_EQ(DecodeRequests(Encode(std::span<const Request>(requests))), requests);
}

TEST(Response, SurvivesTheWire) {
  const std::vector<Response> responses = {
      {.kind = Response::Kind::kReady,
       .name = "x",
       .slot = 9,
       .rows = {1, 0, 3},
       .gpus = {"GPU-1", ""}},
      {.kind = Response::Kind::kMismatch,
       .name = "y",
       .slot = kNoSlot,
       .text = "no",
       .ranks = {0, 2}},
      {.kind = Response::Kind::kForget, .name = "z", .slot = 1},
      {.kind = Response::Kind::kJoined, .name = "join", .slot = kNoSlot, .ranks = {3}},
      {.kind = Response::Kind::kReady,
       .name = "r",
       .slot = kNoSlot,
       .request = Request{.name = "r", .dtype = DType::kInt64, .shape = Shape{2}}},
      {.kind = Response::Kind::kAllJoined, .name = "join", .slot = kNoSlot, .rows = {2}}};
  EXPECT_EQ(DecodeResponses(Encode(std::span<const Response>(responses))), responses);
}

TEST(Request, NegativeRowsAreCorrupt) {
  const std::vector<Request> requests = {
      {.kind = RequestKind::kAlltoall, .name = "x", .splits = {2, -1}}};
  EXPECT_THROW(DecodeRequests(Encode(std::span<const Request>(requests))), Corrupt);
  const std::vector<Response> responses = {{.name = "x", .rows = {-1}}};
  EXPECT_THROW(DecodeResponses(Encode(std::span<const Response>(responses))), Corrupt);
}

TEST(Request, AFlagIsZeroOrOne) {
  const std::vector<Request> requests = {{.name = "x", .gpu = "GPU-1", .gpu_alone = true}};
  std::vector<std::byte> message = Encode(std::span<const Request>(requests));
  EXPECT_EQ(message.back(), std::byte{1});  // A request ends with its flag.
  message.back() = std::byte{2};
  EXPECT_THROW(DecodeRequests(message), Corrupt);
}

TEST(Request, EveryKindHasItsName) {
  EXPECT_EQ(Name(RequestKind::kAllreduce), "ALLREDUCE");
  EXPECT_EQ(Name(RequestKind::kAllgather), "ALLGATHER");
  EXPECT_EQ(Name(RequestKind::kBroadcast), "BROADCAST");
  EXPECT_EQ(Name(RequestKind::kAlltoall), "ALLTOALL");
  EXPECT_EQ(Name(RequestKind::kReducescatter), "REDUCESCATTER");
  EXPECT_EQ(Name(RequestKind::kBarrier), "BARRIER");
  EXPECT_EQ(Name(RequestKind::kGroup), "REGISTER");
}

TEST(Request, AMessageCutAnywhereIsCorrupt) {
  const std::vector<Request> requests = SomeRequests();
  const std::vector<std::byte> message = Encode(std::span<const Request>(requests));
  for (std::size_t size = 0; size < message.size(); ++size) {
    EXPECT_THROW(DecodeRequests(std::span(message).first(size)), Corrupt) << size;
  }
}

TEST(Request, DamagedMessagesNeverCrash) {
  const std::vector<Request> requests = SomeRequests();
  const std::vector<std::byte> message = Encode(std::span<const Request>(requests));
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> damaged = message;
    for (int flips = 0; flips < 3; ++flips) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    try {
      DecodeRequests(damaged);
    } catch (const Corrupt&) {
      continue;  // Refused, and nothing read beyond its end.
    }
  }
}

}  // namespace
}  // namespace weir
