#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/gpu/gpu.h"
#include "common/gpu/gpu_stream.h"
#include "ops/arrays/reduce.h"
#include "ops/exchanges/broadcast_bytes.h"
#include "ops/nccl/api.h"
#include "ops/transport/transport.h"

namespace weir::nccl {

class Launch;

/// NCCL between the GPUs of a group's ranks, one on each: a communicator and the stream in
/// which all its operations run, one after the other. Only Close and Abort block. Not
/// thread-safe: network thread only.
///
/// Every rank starts the same launches in the same order. The first one makes the communicator,
/// whose id rank 0 sends to all over the transport.
///
/// Kernels of several communicators on a GPU wait for those of other ranks, so all must fit on it
/// together: each takes at most kMostBlocks blocks.
class Communicator {
 public:
  static constexpr int kMostBlocks = 16;

  /// `transport` is the group's. All must outlive this object. Warns when the ranks have not
  /// connected after `patience`; 0: no warning.
  Communicator(const Api& api, Transport& transport, const Gpu& gpu,
               std::chrono::nanoseconds patience);
  /// Aborts launches that were not closed.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const Api& api() const { return api_; }
  const Gpu& gpu() const { return stream_.gpu(); }
  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }
  GpuStream& stream() { return stream_; }

  /// Queues a launch. `operation` is its number; the ranks' messages that
  /// make the communicator have it too.
  void Enqueue(Launch& launch, std::uint32_t operation);
  /// Makes progress. Throws PeerLost for an error that another rank's end or the network may have
  /// caused, otherwise Error, with NCCL's message. Abort the communicator then.
  void Poll();
  /// True while work is under way that wakes nobody when it is done.
  bool must_poll() const {
    return stage_ != Stage::kIdle && (launching_ != nullptr || !queue_.empty());
  }

  /// For the launch that is being issued.
  Comm handle() const { return comm_; }
  void Check(Result result) const;
  /// The operator of a reduction that suits NCCL (ops/nccl/reduction.h).
  RedOp OperatorOf(DType dtype, const Reduction& reduction);

  /// Ends in good order, which takes all ranks: what they still have to send goes
  /// first. Aborts after `patience`.
  void Close(std::chrono::milliseconds patience);
  /// Abandons all launches: no buffer is touched once this returns. Does not wait for other ranks.
  void Abort();

 private:
  enum class Stage { kIdle, kId, kConnects, kReady, kClosed };

  void Connect();
  void WarnIfSlow();
  /// Asks NCCL for the state of the communicator; throws for an error.
  bool in_progress() const;
  void IssueNext();

  const Api& api_;
  Transport& transport_;
  GpuStream stream_;
  BroadcastBytes id_exchange_;
  UniqueId id_{};
  Comm comm_ = nullptr;
  Stage stage_ = Stage::kIdle;
  const std::chrono::nanoseconds patience_;
  std::int64_t warning_due_ns_ = 0;  ///< While they connect; 0: no warning.
  std::deque<Launch*> queue_;
  Launch* launching_ = nullptr;
  std::map<std::pair<DataType, double>, RedOp> scaled_sums_;
};

}  // namespace weir::nccl
