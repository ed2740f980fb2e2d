#pragma once

#include "common/gpu_stream.h"
#include "ops/collective.h"
#include "ops/nccl/communicator.h"

namespace weir::nccl {

/// One operation of a communicator: calls of NCCL's that go to the GPU as one group, in the order
/// in which operations start. Derived classes add a `Bind`. Buffers are the GPU's; what
/// Communicator::stream() was told to wait for before Start is done before they are touched.
class Launch : public Collective {
 public:
  explicit Launch(Communicator& communicator) : communicator_(communicator) {}

  void Start(std::uint32_t operation) final {
    runs_ = true;
    issued_ = false;
    communicator_.Enqueue(*this, operation);
  }
  bool Poll() final {
    if (runs_) communicator_.Poll();
    if (issued_ && finished_.reached()) runs_ = false;
    return !runs_;
  }
  std::uint64_t bytes_elsewhere() const final {
    const auto ranks = static_cast<std::uint64_t>(communicator_.size());
    return ranks == 1 ? 0 : SentBytes(ranks);
  }
  void Cancel() final {
    if (runs_) communicator_.Abort();
    runs_ = false;
  }

 protected:
  Communicator& communicator() const { return communicator_; }

 private:
  friend class Communicator;
  /// Makes the calls, inside a group.
  virtual void Issue() = 0;
  /// What the bandwidth-optimal algorithm has each of so many ranks send, two or more.
  virtual std::uint64_t SentBytes(std::uint64_t ranks) const = 0;
  /// They are in the stream.
  void Issued() {
    issued_ = true;
    finished_.Give(communicator_.stream());
  }

  Communicator& communicator_;
  GpuSignal finished_;
  bool runs_ = false;
  bool issued_ = false;
};

}  // namespace weir::nccl
