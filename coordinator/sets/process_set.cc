#include "coordinator/sets/process_set.h"

#include <algorithm>

#include "weir/error.h"

namespace weir {
namespace {

// Exchanges under way at once: enough to keep the link busy while one of them ends.
constexpr std::size_t kExchangesAtOnce = 4;

// What other ranks are still to be sent over NCCL gets away meanwhile, or never will.
constexpr std::chrono::seconds kCloseWait(5);

Negotiator::Timing TimingOf(const Settings& settings) {
  Negotiator::Timing timing;
  timing.longest_pause_ns = static_cast<std::int64_t>(settings.cycle_time_ms * 1e6);
  timing.first_pause_ns = std::min(timing.first_pause_ns, timing.longest_pause_ns);
  return timing;
}

}  // namespace

ProcessSet::ProcessSet(int id, std::vector<int> ranks, std::uint32_t lane, Transport& network,
                       const Shared& shared)
    : network_(id, std::move(ranks), lane, network, shared.settings, shared.gpu_offers),
      shared_(shared) {
  if (!network_.is_member()) return;
  operations_ = std::make_unique<OperationTable>(*this, network_, shared_.handles, shared_.names);
  negotiator_ = std::make_unique<Negotiator>(
      transport(), static_cast<std::uint32_t>(shared_.settings.cache_capacity),
      TimingOf(shared_.settings));
  joining_ = std::make_unique<Joining>(*this, shared_.live, shared_.handles, shared_.names);
  for (auto* exchanger : {&exchanger_, &free_exchanger_}) {
    *exchanger = std::make_unique<Exchanger>(
        Exchanger::Bounds{kExchangesAtOnce, shared_.settings.scheduling_credit_bytes},
        [this](LiveRun& run) { Exchanged(run); },
        ExchangeMeter{.network = &shared_.meter,
                      .use_of = [this](const Bucket& bucket) { return UseOf(bucket); },
                      .under_way_bytes = &shared_.gauges.credit_bytes,
                      .speed = &shared_.speed});
  }
}

MeteredTransport::Use ProcessSet::UseOf(const Bucket& bucket) const {
  return {.bytes = &shared_.gauges.traffic_of(bucket.traffic_op()),
          .also = bucket.step() >= 0 ? &shared_.gauges.gradient_traffic : nullptr};
}

bool ProcessSet::Poll(std::int64_t now_ns) {
  if (retired_) return false;
  const bool negotiated = PollNegotiation(now_ns);
  const bool moved = free_exchanger_->Poll(now_ns);
  return exchanger_->Poll(now_ns) || moved || negotiated;
}

void ProcessSet::Retire() {
  if (retired_) return;
  Cancel();  // Where the job ends at the same time, a last round may have begun.
  retired_ = true;
  if (negotiator_ == nullptr) return;
  network_.gpus().Close(kCloseWait);
  negotiator_.reset();
  exchanger_.reset();
  free_exchanger_.reset();
  operations_->Clear();
}

void ProcessSet::Cancel() {
  if (retired_ || negotiator_ == nullptr) return;
  negotiator_->Cancel();
  exchanger_->Cancel();
  free_exchanger_->Cancel();
}

}  // namespace weir
