#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir {

/// One collective operation as a state machine over a Transport: all-reduce, all-gather, ...
///
/// An object is made once for a bucket and started again every step; Start and Poll
/// allocate nothing in steady state. Derived classes add a `Bind` for the buffers of the
/// next run. Every rank starts the same operation with the same number. Different
/// operations may be under way at once and may start in different orders on different
/// ranks. Not thread-safe: network thread only.
class Collective {
 public:
  virtual ~Collective() = default;

  /// Begins a run. `operation` is the same on all ranks and unique among those under way.
  virtual void Start(std::uint32_t operation) = 0;

  /// Moves as far as it can without blocking. True once the result is complete on this rank and
  /// none of its buffers is in use any more; true again when called again. Throws the transport's
  /// errors; the run is then dead and must be cancelled.
  virtual bool Poll() = 0;

  /// Keeps a large run, from the next Poll on, from posting what would make `posted_bytes` more
  /// than `bytes`: others go first. Receiving goes on. A run begins without a limit. Only
  /// reductions that travel in chunks heed it.
  virtual void Limit(std::size_t /*bytes*/) {}
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  /// Bytes that a large run has posted to send and that have not left yet.
  virtual std::size_t posted_bytes() const { return 0; }

  /// Abandons a run after a failure: no buffer is touched once this returns.
  virtual void Cancel() = 0;

  /// Bytes that each rank sends to others in a run, and receives, on a network other than the
  /// transport, which counts its own.
  virtual std::uint64_t bytes_elsewhere() const { return 0; }
};

}  // namespace weir
