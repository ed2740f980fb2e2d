#include "ops/exchanges/clock_exchange.h"

#include <fmt/core.h>

#include <span>
#include <utility>

#include "weir/error.h"

namespace weir {

ClockExchange::ClockExchange(Transport& transport, std::uint32_t operation,
                             std::function<std::int64_t()> clock)
    : transport_(transport),
      tag_{operation, 0},
      clock_(std::move(clock)),
      peers_(transport.rank() == 0 ? static_cast<std::size_t>(transport.size() - 1) : 0) {}

void ClockExchange::Start() {
  if (transport_.rank() != 0) return BeginTrip();
  job_clock_ = {.began_ns = clock_(), .unix_time_at_0_ns = UnixTimeAtZeroNs()};
  for (std::size_t i = 0; i < peers_.size(); ++i)
    peers_[i].ping.Receive(transport_, static_cast<int>(i) + 1, tag_, {});
}

bool ClockExchange::Poll() {
  if (done_) return true;
  if (transport_.rank() == 0) {
    done_ = true;
    for (std::size_t i = 0; i < peers_.size(); ++i)
      done_ = Serve(static_cast<int>(i) + 1, peers_[i]) && done_;
    return done_;
  }
  if (!answered_ && pong_.Done(transport_)) {
    EndTrip(clock_());
    answered_ = true;
  }
  if (!answered_ || !ping_.Done(transport_)) return false;
  if (trips_ == kTrips) return done_ = true;
  BeginTrip();
  return false;
}

bool ClockExchange::Serve(int rank, Peer& peer) {
  if (!peer.pong.Done(transport_)) return false;
  if (peer.trips == kTrips) return true;
  if (!peer.ping.Done(transport_)) return false;
  peer.times = {.arrived_ns = clock_(),
                .began_ns = job_clock_.began_ns,
                .unix_time_at_0_ns = job_clock_.unix_time_at_0_ns};
  ++peer.trips;
  if (peer.trips < kTrips) peer.ping.Receive(transport_, rank, tag_, {});
  peer.times.leaves_ns = clock_();
  peer.pong.Send(transport_, rank, tag_, std::as_bytes(std::span(&peer.times, 1)));
  return false;
}

void ClockExchange::BeginTrip() {
  answered_ = false;
  ++trips_;
  pong_.Receive(transport_, 0, tag_, std::as_writable_bytes(std::span(&times_, 1)));
  sent_ns_ = clock_();
  ping_.Send(transport_, 0, tag_, {});
}

void ClockExchange::EndTrip(std::int64_t now_ns) {
  if (pong_.bytes() != sizeof times_) {
    throw Corrupt(
        fmt::format("rank 0 answered with {} bytes, not {}, when the clocks were compared",
                    pong_.bytes(), sizeof times_),
        {"", {0}, "start"});
  }
  const std::int64_t there = times_.arrived_ns - sent_ns_;
  const std::int64_t back = now_ns - times_.leaves_ns;
  // Rounded up, with the lost half of an odd number.
  const std::int64_t error = (there + back + 1) / 2 + 1;
  if (trips_ > 1 && error >= job_clock_.error_ns) return;
  job_clock_ = {.offset_ns = (there - back) / 2,
                .error_ns = error,
                .began_ns = times_.began_ns,
                .unix_time_at_0_ns = times_.unix_time_at_0_ns};
}

void ClockExchange::Cancel() {
  ping_.Cancel(transport_);
  pong_.Cancel(transport_);
  for (Peer& peer : peers_) {
    peer.ping.Cancel(transport_);
    peer.pong.Cancel(transport_);
  }
}

}  // namespace weir
