#include "coordinator/process_set.h"

#include <algorithm>

#include "ops/counted_transport.h"
#include "ops/subset_transport.h"
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
    : id_(id), ranks_(std::move(ranks)), lane_(lane), shared_(shared) {
  if (!includes(network.rank())) return;
  transport_ = &network;
  if (lane != 0) {
    subset_ = std::make_unique<SubsetTransport>(network, ranks_, lane);
    transport_ = subset_.get();
  }
  gpu_network_ = std::make_unique<GpuNetwork>(shared_.gpu_offers, *transport_);
  operations_ = std::make_unique<OperationTable>(*this, shared_.handles, shared_.names);
  round_network_ =
      std::make_unique<CountedTransport>(*transport_, shared_.gauges.negotiation_bytes);
  negotiator_ = std::make_unique<Negotiator>(
      *round_network_, static_cast<std::uint32_t>(shared_.settings.cache_capacity),
      TimingOf(shared_.settings));
  joining_ = std::make_unique<Joining>(*this, shared_.handles, shared_.names);
  for (auto* exchanger : {&exchanger_, &free_exchanger_}) {
    *exchanger = std::make_unique<Exchanger>(
        kExchangesAtOnce, [this](Bucket* bucket) { Exchanged(bucket); },
        ExchangeMeter{.network = &shared_.meter,
                      .use_of = [this](const Bucket& bucket) { return UseOf(bucket); },
                      .under_way_bytes = &shared_.gauges.credit_bytes,
                      .speed = &shared_.speed});
  }
}

MeteredTransport::Use ProcessSet::UseOf(const Bucket& bucket) const {
  const std::string& op = shared_.names.Find(bucket.record_index).routes[bucket.route_index()].op;
  return {.bytes = &shared_.gauges.traffic_of(TrafficOpOf(op)),
          .also = bucket.step() >= 0 ? &shared_.gauges.gradient_traffic : nullptr};
}

std::optional<HostGrid> ProcessSet::GridOf(std::span<const int> host_of_rank) const {
  std::vector<int> hosts;
  for (const int rank : ranks_) hosts.push_back(host_of_rank[static_cast<std::size_t>(rank)]);
  return HostGrid::Of(hosts, transport_->rank());
}

void ProcessSet::SetHosts(std::span<const int> host_of_rank) {
  if (transport_ != nullptr) grid_ = GridOf(host_of_rank);
}

int ProcessSet::IndexOf(int job_rank) const {
  const auto found = std::ranges::lower_bound(ranks_, job_rank);
  if (found == ranks_.end() || *found != job_rank) return -1;
  return static_cast<int>(found - ranks_.begin());
}

bool ProcessSet::includes(int job_rank) const { return IndexOf(job_rank) >= 0; }

std::string ProcessSet::Suffix() const {
  return id_ == kGlobal ? "" : " of process set " + std::to_string(id_);
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
  gpu_network_->Close(kCloseWait);
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
