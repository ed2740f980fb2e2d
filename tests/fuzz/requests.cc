// Requests of ranks to rank 0, and its comparison of them.
#include <algorithm>

#include "coordinator/negotiation/agreement.h"
#include "coordinator/negotiation/request.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_requests.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

bool HasScalar(const Request& request) {
  for (std::size_t i = 0; i < request.tensors(); ++i) {
    if (request.shape_of(i).rank() == 0) return true;
  }
  return false;
}

}  // namespace

void Run(std::span<const std::byte> message) {
  std::vector<Request> requests;
  if (!Accepts<Corrupt>([&] { requests = DecodeRequests(message); })) return;
  WEIR_CHECK(std::ranges::equal(Encode(std::span<const Request>(requests)), message));
  std::vector<int> ranks;
  for (const Request& request : requests) {
    WEIR_CHECK(request.slots <= kMostSlots);
    for (std::size_t i = 0; i < request.tensors(); ++i) {
      WEIR_CHECK(request.shape_of(i).elements() >= 0);
      static_cast<void>(request.tensor_name(i));
    }
    ranks.push_back(static_cast<int>(ranks.size()));
  }
  if (requests.empty()) return;
  const auto disagreement = FindDisagreement(requests, ranks);
  if (!disagreement) return;
  WEIR_CHECK(!disagreement->text.empty());
  const std::vector<int>& named = disagreement->ranks;
  WEIR_CHECK(named.front() == ranks.front());
  if (named.size() == 1) {
    WEIR_CHECK(GathersRows(requests.front().kind) && HasScalar(requests.front()));
  } else {
    WEIR_CHECK(named.size() == 2 && named[0] < named[1] && named[1] <= ranks.back());
  }
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  const std::vector<Request> all = SampleRequests();
  seeds.push_back(Encode(std::span<const Request>(all)));
  for (const Request& request : all) {
    const std::vector<Request> twice = {request, request};
    seeds.push_back(Encode(std::span<const Request>(twice)));
  }
  const std::vector<Request> scalar = {{.kind = RequestKind::kAllgather, .name = "scalar"}};
  seeds.push_back(Encode(std::span<const Request>(scalar)));
  return seeds;
}

}  // namespace weir::fuzz
