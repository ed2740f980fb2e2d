#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "common/gpu/gpu_stream.h"
#include "ops/collectives/collective.h"
#include "ops/nccl/communicator.h"

namespace weir::nccl {

/// One operation of a communicator: calls of NCCL that go to the GPU as one group, in the order in
/// which operations start. Derived classes add a `Bind`. Buffers are the GPU's. They are touched
/// only after the work that Communicator::stream() was told to wait for before Start.
class Launch : public Collective {
 public:
  explicit Launch(Communicator& communicator) : communicator_(communicator) {}

  /// Orders each run into another stream, which must outlive this: after the work in that stream
  /// when the run goes to the GPU, and before all later work. The first later work is `then`, which
  /// is part of the run. The host waits for none of it.
  void Join(GpuStream& stream, std::function<void()> then) {
    joined_ = std::make_unique<Joined>(stream, std::move(then));
  }

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
    if (runs_ && joined_) {
      GiveBack(joined_->stream.gpu(), [this](const GpuApi&) { joined_->stream.Await(); });
    }
    runs_ = false;
  }

 protected:
  Communicator& communicator() const { return communicator_; }

 private:
  friend class Communicator;
  /// Makes the calls, inside a group.
  virtual void Issue() = 0;
  /// Bytes that the bandwidth-optimal algorithm sends from each of so many ranks, two or more.
  virtual std::uint64_t SentBytes(std::uint64_t ranks) const = 0;
  /// Called before the calls go into the stream.
  void BeforeIssue() {
    if (!joined_) return;
    joined_->before.Record(joined_->stream.handle());
    communicator_.stream().WaitFor(joined_->before);
  }
  /// Called once they are in the stream.
  void Issued() {
    issued_ = true;
    if (!joined_) return finished_.Give(communicator_.stream());
    joined_->after.Record(communicator_.stream().handle());
    joined_->stream.WaitFor(joined_->after);
    joined_->then();
    finished_.Give(joined_->stream);
  }

  /// The stream that runs are ordered into, and their places in it.
  struct Joined {
    Joined(GpuStream& in, std::function<void()> next)
        : stream(in), then(std::move(next)), before(in.gpu()), after(in.gpu()) {}
    GpuStream& stream;
    const std::function<void()> then;
    GpuEvent before;
    GpuEvent after;
  };

  Communicator& communicator_;
  std::unique_ptr<Joined> joined_;  ///< Null: runs are in the communicator's stream alone.
  GpuSignal finished_;
  bool runs_ = false;
  bool issued_ = false;
};

}  // namespace weir::nccl
