#include "ops/collectives/hierarchical_allgather.h"

namespace weir {

HierarchicalAllgather::HierarchicalAllgather(Transport& transport, const HostGrid& grid)
    : transport_(transport), grid_(grid) {
  for (int i = 1; i < grid_.hosts(); ++i) {
    across_.push_back({.rank = RankAfter(i, grid_.place()), .to = {}, .from = {}});
  }
  for (int i = 1; i < grid_.ranks_per_host(); ++i) {
    const int place = (grid_.place() + i) % grid_.ranks_per_host();
    neighbours_.push_back({.place = place, .exchange = {.rank = RankAfter(0, place)}});
  }
}

int HierarchicalAllgather::RankAfter(int i, int place) const {
  return grid_.RankAt((grid_.host() + i) % grid_.hosts(), place);
}

void HierarchicalAllgather::Start(std::uint32_t operation) {
  operation_ = operation;
  for (Exchange& exchange : across_) {
    exchange.to.StartSend(exchange.rank, operation, task_.in, {});
    exchange.from.StartReceive(exchange.rank, operation, task_.PartOf(exchange.rank), {});
  }
  task_.CopyOwn(transport_.rank());
  for (Neighbour& neighbour : neighbours_) {
    neighbour.hosts_sent = neighbour.hosts_received = 0;
    StartSend(neighbour);
    StartReceive(neighbour);
  }
}

void HierarchicalAllgather::StartSend(Neighbour& neighbour) {
  const int origin = RankAfter(neighbour.hosts_sent, grid_.place());
  neighbour.exchange.to.StartSend(neighbour.exchange.rank, operation_, task_.PartOf(origin), {});
}

void HierarchicalAllgather::StartReceive(Neighbour& neighbour) {
  const int origin = RankAfter(neighbour.hosts_received, neighbour.place);
  neighbour.exchange.from.StartReceive(neighbour.exchange.rank, operation_, task_.PartOf(origin),
                                       {});
}

std::size_t HierarchicalAllgather::Arrived(int i) const {
  if (i == 0) return ChunkStream::kEverything;
  return across_[static_cast<std::size_t>(i - 1)].from.completed();
}

bool HierarchicalAllgather::Poll(Neighbour& neighbour) {
  const int hosts = grid_.hosts();
  while (neighbour.hosts_received < hosts && neighbour.exchange.from.Poll(transport_)) {
    if (++neighbour.hosts_received < hosts) StartReceive(neighbour);
  }
  while (neighbour.hosts_sent < hosts &&
         neighbour.exchange.to.Poll(transport_, Arrived(neighbour.hosts_sent))) {
    if (++neighbour.hosts_sent < hosts) StartSend(neighbour);
  }
  return neighbour.hosts_received == hosts && neighbour.hosts_sent == hosts;
}

bool HierarchicalAllgather::Poll() {
  bool done = true;
  for (Exchange& exchange : across_) {
    done &= exchange.from.Poll(transport_);
    done &= exchange.to.Poll(transport_);
  }
  for (Neighbour& neighbour : neighbours_) done &= Poll(neighbour);
  return done;
}

void HierarchicalAllgather::Cancel() {
  for (Exchange& exchange : across_) {
    exchange.to.Cancel(transport_);
    exchange.from.Cancel(transport_);
  }
  for (Neighbour& neighbour : neighbours_) {
    neighbour.exchange.to.Cancel(transport_);
    neighbour.exchange.from.Cancel(transport_);
    neighbour.hosts_sent = neighbour.hosts_received = grid_.hosts();
  }
}

}  // namespace weir
