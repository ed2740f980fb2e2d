// What ranks ask rank 0 for, and its comparison of that.
#include <algorithm>

#include "coordinator/agreement.h"
#include "coordinator/request.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_requests.h"
#include "weir/error.h"

namespace weir::fuzz {

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
  WEIR_CHECK(!disagreement || (!disagreement->text.empty() && disagreement->ranks.size() == 2));
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  const std::vector<Request> all = SampleRequests();
  seeds.push_back(Encode(std::span<const Request>(all)));
  for (const Request& request : all) {
    const std::vector<Request> twice = {request, request};
    seeds.push_back(Encode(std::span<const Request>(twice)));
  }
  return seeds;
}

}  // namespace weir::fuzz
