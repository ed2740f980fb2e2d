#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Finds out which ranks this one hears from, while all stand still: each sends an empty message to
/// every other. What collectives wait for does not tell it, as most ranks wait for ranks that wait
/// themselves. Network thread only; the network must outlive it.
class ReachProbe {
 public:
  explicit ReachProbe(Transport& ranks);

  bool under_way() const { return under_way_; }
  void Start();
  /// Makes progress. Throws what Transport::Test throws.
  void Poll();
  /// Returns the ranks from whom nothing has come since Start, as numbers in the job, ascending.
  std::vector<int> Unheard() const;
  /// Takes back what has not come. What was sent goes on its way.
  void Stop();
  /// Takes back everything, at the network's end.
  void Cancel();

  /// Messages of this kind that have been sent and received so far.
  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }

 private:
  struct Peer {
    int rank = 0;
    Pending out, in;
    bool sends = false;
    bool waits = false;
  };

  Transport& ranks_;
  std::deque<Peer> peers_;
  bool under_way_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace weir
