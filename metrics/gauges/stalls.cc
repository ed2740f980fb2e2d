#include "metrics/gauges/stalls.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "metrics/files/json_text.h"

namespace weir {

std::string StallsPage(const Stalls& stalls, std::int64_t now_ns) {
  auto tensors = nlohmann::ordered_json::array();
  for (const StalledTensor& tensor : stalls.tensors) {
    const auto waited_ns = std::max<std::int64_t>(now_ns - tensor.since_ns, 0);
    tensors.push_back({{"name", tensor.name},
                       {"process_set", tensor.process_set},
                       {"waited_seconds", static_cast<double>(waited_ns) * 1e-9},
                       {"missing_ranks", tensor.missing}});
  }
  return JsonText(
      {{"time_ns", now_ns}, {"tensors", std::move(tensors)}, {"left_out", stalls.left_out}});
}

}  // namespace weir
