// Rank 0's answers.
#include <algorithm>

#include "coordinator/negotiation/request.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_requests.h"
#include "weir/error.h"

namespace weir::fuzz {

void Run(std::span<const std::byte> message) {
  std::vector<Response> responses;
  if (!Accepts<Corrupt>([&] { responses = DecodeResponses(message); })) return;
  WEIR_CHECK(std::ranges::equal(Encode(std::span<const Response>(responses)), message));
  for (const Response& response : responses) {
    WEIR_CHECK(response.slot == kNoSlot || response.slot <= kMostSlots);
    for (const std::int64_t rows : response.rows) WEIR_CHECK(rows >= 0);
  }
}

std::vector<Bytes> Seeds() {
  std::vector<Response> responses = {
      {.kind = Response::Kind::kReady, .name = "x", .slot = 9, .rows = {1, 0, 3}},
      {.kind = Response::Kind::kMismatch, .name = "y", .slot = kNoSlot, .text = "no", .ranks = {2}},
      {.kind = Response::Kind::kForget, .name = "z", .slot = 1},
      {.kind = Response::Kind::kJoined, .name = "join", .slot = kNoSlot, .ranks = {3}},
      {.kind = Response::Kind::kAllJoined, .name = "join", .slot = kNoSlot, .rows = {2}}};
  for (const Request& request : SampleRequests()) {
    responses.push_back({.name = request.name, .slot = kNoSlot, .request = request});
  }
  std::vector<Bytes> seeds = {Encode(std::span<const Response>(responses))};
  for (const Response& response : responses) {
    seeds.push_back(Encode(std::span(&response, 1)));
  }
  return seeds;
}

}  // namespace weir::fuzz
