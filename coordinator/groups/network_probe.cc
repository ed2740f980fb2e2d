#include "coordinator/groups/network_probe.h"

#include <limits>
#include <utility>
#include <vector>

#include "common/clock.h"

namespace weir {
namespace {

constexpr std::size_t kFirst = std::size_t{16} << 10;  // Values; each next size is four times it.
constexpr int kSizes = 5;
constexpr double kLongEnough = 0.02;

/// All-reduces values of this rank in place.
void ReduceInPlace(Coordinator& coordinator, ProcessSet& set, const std::string& owner, ReduceOp op,
                   std::vector<float>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  Submission submission;
  submission.request = {.kind = RequestKind::kAllreduce,
                        .name = std::string(kProbeName) + owner,
                        .dtype = DType::kFloat32,
                        .shape = Shape{n},
                        .op = op,
                        .slots = 0};
  submission.tensors = {{values.data(), values.data(), n, DType::kFloat32}};
  coordinator.Wait(coordinator.Submit(set, std::move(submission)));
}

}  // namespace

HostLink ProbeNetwork(Coordinator& coordinator, ProcessSet& set, const std::string& owner) {
  const double ranks = set.size();
  if (set.size() == 1) return {.bytes_per_second = std::numeric_limits<double>::infinity()};
  std::vector<float> values(1);
  ReduceInPlace(coordinator, set, owner, ReduceOp::kSum, values);  // Ranks may be late.
  double before = 0.0, before_bytes = 0.0;
  HostLink link;
  std::size_t n = 1;
  for (int size = 0; size <= kSizes; ++size) {
    values.assign(n, 0.0f);
    const std::int64_t begin_ns = NowNs();
    ReduceInPlace(coordinator, set, owner, ReduceOp::kSum, values);
    // What the ranks measure differs; they go on with the same number.
    std::vector<float> seconds = {static_cast<float>(NowNs() - begin_ns) * 1e-9f};
    ReduceInPlace(coordinator, set, owner, ReduceOp::kAverage, seconds);
    const double took = seconds.front();
    const double bytes = 2.0 * (ranks - 1.0) / ranks * static_cast<double>(n * sizeof(float));
    if (size == 0) {
      link.seconds_per_message = took;
    } else {
      const double more = took - before;
      link.bytes_per_second = more > 0.0 ? (bytes - before_bytes) / more : bytes / took;
      if (took > kLongEnough) break;
    }
    before = took;
    before_bytes = bytes;
    n = size == 0 ? kFirst : 4 * n;
  }
  return link;
}

}  // namespace weir
