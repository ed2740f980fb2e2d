#include "coordinator/groups/network_probe.h"

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "common/threads/background_thread.h"
#include "common/threads/thread_name.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kFirst = std::size_t{16} << 10;  // Values; each next size is four times it.
constexpr int kSizes = 5;
constexpr int kRepeats = 3;
constexpr double kLongEnough = 0.02;
constexpr double kTooFastToTell = std::numeric_limits<double>::infinity();

}  // namespace

NetworkProbe::NetworkProbe(Coordinator& coordinator, ProcessSet& set, std::string owner)
    : coordinator_(coordinator),
      set_(set),
      name_("weir:measurement of the network for " + std::move(owner)) {}

NetworkProbe::~NetworkProbe() {
  if (!thread_.joinable()) return;
  if (coordinator_.ending().forked()) {
    thread_.detach();  // It is the parent's.
  } else {
    thread_.join();
  }
}

void NetworkProbe::Await() {
  if (thread_.joinable()) thread_.join();
}

void NetworkProbe::Start() {
  Await();
  try {
    thread_ = std::thread([this] {
      NameThread("weir-probe");
      WorkInBackground();
      Run();
    });
  } catch (const std::system_error& error) {
    LogWarning("{}: no thread: {}", name_, error.what());
    Finish({.bytes_per_second = kTooFastToTell});
  }
}

void NetworkProbe::Run() {
  try {
    Finish(Measure());
  } catch (const std::exception& error) {
    // The engine has ended, and has said why; or another rank has left.
    LogDebug("{}: {}", name_, error.what());
    Finish({.bytes_per_second = kTooFastToTell});
  }
}

void NetworkProbe::Finish(const HostLink& link) {
  const std::lock_guard lock(mutex_);
  found_ = link;
}

std::optional<HostLink> NetworkProbe::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, std::nullopt);
}

void NetworkProbe::Reduce(ReduceOp op, std::vector<float>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  Submission submission;
  submission.request = {.kind = RequestKind::kAllreduce,
                        .name = name_,
                        .dtype = DType::kFloat32,
                        .shape = Shape{n},
                        .op = op,
                        .slots = 0};
  submission.tensors = {{values.data(), values.data(), n, DType::kFloat32}};
  coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
}

HostLink NetworkProbe::Measure() {
  const double ranks = set_.size();
  if (set_.size() == 1) return {.bytes_per_second = kTooFastToTell};
  std::vector<float> values(1);
  Reduce(ReduceOp::kSum, values);  // Ranks may be late.
  double before = 0.0, before_bytes = 0.0;
  HostLink link;
  std::size_t n = 1;
  for (int size = 0; size <= kSizes; ++size) {
    double took = std::numeric_limits<double>::infinity();
    // The fastest: where ranks share cores, one may wait for a core longer than for the network.
    for (int again = 0; again < kRepeats; ++again) {
      values.assign(n, 0.0f);
      const std::int64_t begin_ns = NowNs();
      Reduce(ReduceOp::kSum, values);
      // What the ranks measure differs; they go on with the same number. Those that have joined
      // measure nothing, and are zeros.
      std::vector<float> seconds = {static_cast<float>(NowNs() - begin_ns) * 1e-9f, 1.0f};
      Reduce(ReduceOp::kSum, seconds);
      took = std::min(took, static_cast<double>(seconds.front() / seconds.back()));
    }
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
