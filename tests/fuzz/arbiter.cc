// Rank 0's side of the slow path, on requests that any rank may send at any time.
#include "coordinator/negotiation/arbiter.h"

#include <algorithm>
#include <map>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_requests.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostMembers = 4;
constexpr std::size_t kMostCached = 3;

/// The slots that are given away, each with the name that has it.
using Owners = std::map<std::uint32_t, std::string>;

/// All ranks' reaction to the answers.
void Follow(const std::vector<Response>& responses, Owners& owners) {
  const auto message = Encode(std::span<const Response>(responses));
  const auto decoded = DecodeResponses(message);
  WEIR_CHECK_MSG(std::ranges::equal(Encode(std::span<const Response>(decoded)), message),
                 "the ranks understand what rank 0 says");
  for (const Response& response : responses) {
    if (response.slot == kNoSlot) continue;
    if (response.kind == Response::Kind::kForget) {
      WEIR_CHECK(owners.at(response.slot) == response.name);
      owners.erase(response.slot);
    } else {
      WEIR_CHECK(owners.emplace(response.slot, response.name).second);
    }
  }
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t members = 1 + input.Number(kMostMembers - 1);
  const std::size_t cached = input.Number(kMostCached);
  std::vector<Request> requests;
  if (!Accepts<Corrupt>([&] { requests = DecodeRequests(input.Rest()); })) return;

  std::vector<int> ranks;
  for (std::size_t i = 0; i < members; ++i) ranks.push_back(static_cast<int>(10 * i));
  Arbiter arbiter(ranks, static_cast<std::uint32_t>(cached));
  Owners owners;
  for (const Request& request : requests) {
    // Fields that the arbiter does not look at say who asks, and whether a round ends here.
    const auto who = static_cast<std::uint32_t>(request.priority) % members;
    const bool last = request.prescale != 1.0;
    if (!Accepts<Corrupt>([&] { arbiter.Add(static_cast<int>(who), request); })) return;
    if (!last) continue;
    Follow(arbiter.Take(), owners);
    arbiter.BeginRound({});
  }
  Follow(arbiter.Take(), owners);
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const std::size_t cached : {0u, 2u}) {
    std::vector<Request> asked;
    for (Request request : SampleRequests()) {
      for (const int member : {0, 1}) {
        request.priority = member;
        asked.push_back(request);
      }
      asked.back().prescale = 0.5;
    }
    seeds.push_back(Seed({1, cached}, Encode(std::span<const Request>(asked))));
  }
  return seeds;
}

}  // namespace weir::fuzz
