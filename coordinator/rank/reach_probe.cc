#include "coordinator/rank/reach_probe.h"

#include "coordinator/work/operation_numbers.h"

namespace weir {

ReachProbe::ReachProbe(Transport& ranks) : ranks_(ranks) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank != ranks.rank()) peers_.emplace_back().rank = rank;
  }
}

void ReachProbe::Start() {
  under_way_ = true;
  for (Peer& peer : peers_) {
    peer.in.Receive(ranks_, peer.rank, {.operation = kProbeOperation}, {});
    peer.waits = true;
    if (peer.sends) continue;  // The last one has not left yet, and tells as much.
    peer.out.Send(ranks_, peer.rank, {.operation = kProbeOperation}, {});
    peer.sends = true;
  }
}

void ReachProbe::Poll() {
  for (Peer& peer : peers_) {
    if (peer.sends && peer.out.Done(ranks_)) {
      peer.sends = false;
      ++sent_;
    }
    if (peer.waits && peer.in.Done(ranks_)) {
      peer.waits = false;
      ++received_;
    }
  }
}

std::vector<int> ReachProbe::Unheard() const {
  std::vector<int> unheard;
  for (const Peer& peer : peers_) {
    if (peer.waits) unheard.push_back(ranks_.JobRank(peer.rank));
  }
  return unheard;
}

void ReachProbe::Stop() {
  under_way_ = false;
  for (Peer& peer : peers_) {
    peer.in.Cancel(ranks_);
    peer.waits = false;
  }
}

void ReachProbe::Cancel() {
  Stop();
  for (Peer& peer : peers_) {
    peer.out.Cancel(ranks_);
    peer.sends = false;
  }
}

}  // namespace weir
