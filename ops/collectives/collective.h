#pragma once

#include <cstdint>

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

  /// Keeps a large run, from the next Poll on, from posting more to send, or lets it go on: what is
  /// more urgent is under way. Receiving goes on. Without effect on small ones.
  virtual void Hold(bool /*held*/) {}

  /// Abandons a run after a failure: no buffer is touched once this returns.
  virtual void Cancel() = 0;

  /// Bytes that each rank sends to others in a run, and receives, on a network other than the
  /// transport, which counts its own.
  virtual std::uint64_t bytes_elsewhere() const { return 0; }
};

}  // namespace weir
