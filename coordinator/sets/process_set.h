#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/negotiation/negotiator.h"
#include "coordinator/network/set_network.h"
#include "coordinator/operations/operation_table.h"
#include "coordinator/sets/joining.h"
#include "coordinator/work/exchanger.h"
#include "coordinator/work/live_runs.h"
#include "coordinator/work/network_speed.h"
#include "coordinator/work/pipeline.h"
#include "metrics/gauges/engine_gauges.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"
#include "ops/transport/transport.h"
#include "weir/settings.h"

namespace weir {

/// Ranks that negotiate and exchange among themselves: a small coordinator of its own, with its own
/// rounds, names, slots and order of exchanges. Every rank knows every set; only members have a
/// network in it. Set 0 is the whole job.
///
/// Any thread may use const members and the operations; the rest belongs to the network thread.
class ProcessSet {
 public:
  static constexpr int kGlobal = 0;

  /// Objects that the sets of a rank share.
  struct Shared {
    const Settings& settings;
    LiveRuns& live;
    Pipeline& pipeline;
    HandleTable& handles;
    BucketNames& names;
    EngineGauges& gauges;
    MeteredTransport& meter;  ///< Lies below the networks of all sets.
    NetworkSpeed& speed;      ///< Speed of that network.
    Recorder& recorder;
    const std::atomic<bool>& marks_cycles;  ///< True: each round is recorded.
    GpuOffers& gpu_offers;
  };

  /// Makes a set of the job's `ranks`, ascending. Lane 0 is the whole job's; any other keeps the
  /// set's messages apart (SubsetTransport). The network must outlive the set.
  ProcessSet(int id, std::vector<int> ranks, std::uint32_t lane, Transport& network,
             const Shared& shared);

  /// Returns the set's ranks, and the network between them.
  SetNetwork& network() { return network_; }
  int id() const { return network_.id(); }
  const std::vector<int>& ranks() const { return network_.ranks(); }
  int size() const { return network_.size(); }
  bool includes(int job_rank) const { return network_.includes(job_rank); }
  std::string Suffix() const { return network_.Suffix(); }

  // Members for ranks of the set only.

  Transport& transport() const { return network_.transport(); }
  OperationTable& operations() const { return *operations_; }
  Joining& joining() const { return *joining_; }
  Recorder& recorder() const { return shared_.recorder; }

  /// Negotiates a bucket of gradients, complete on this rank since `ready_ns`.
  void OnReady(Bucket* bucket, std::int64_t ready_ns);
  /// Negotiates a single operation likewise.
  void OnSubmitted(Operation* operation, std::int64_t ready_ns);
  /// Notes that the bucket's next stage is the gate, or the exchange.
  void OnStaged(Bucket* bucket);
  /// Notes that the bucket's run is over.
  void OnDone(Bucket* bucket);
  /// Takes OnReady and OnStaged back for a bucket that the ranks have not agreed on yet.
  void Withdraw(Bucket* bucket);
  /// Makes progress; true if something moved. Throws what the network throws.
  bool Poll(std::int64_t now_ns);

  /// Announces, from the next round on, that the job ends. `leaves`: because of this rank.
  void AnnounceShutdown(bool leaves) { negotiator_->AnnounceShutdown(leaves); }
  /// True once all members know that the job ends, and nothing more is agreed on.
  bool closing() const { return closing_; }
  /// Returns the first rank to leave, if it was a member; -1: unknown.
  int leaving_rank() const { return negotiator_->outcome().leaving_rank; }

  bool exchanging() const { return exchanger_->under_way() || free_exchanger_->under_way(); }
  bool round_under_way() const { return negotiator_->round_under_way(); }
  /// True if something is under way that wakes no thread when it is done.
  bool must_poll() const { return network_.gpus().must_poll(); }
  std::size_t queued() const { return exchanger_->queued() + free_exchanger_->queued(); }
  /// Returns the time of the last agreement. Any thread.
  std::int64_t last_agreed_ns() const { return last_agreed_ns_; }
  /// Returns the time when the next round is due; 0: nothing calls for one.
  std::int64_t next_round_ns() const {
    return closing_ ? 0 : negotiator_->next_round_ns(exchanging());
  }
  /// Ends the set, which was removed. Anything that comes to it too late fails.
  void Retire();
  /// Gives everything up after a failure.
  void Cancel();

 private:
  struct SlotUse {
    Bucket* bucket = nullptr;
    Operation* operation = nullptr;  ///< The bucket, if it is one.
    StepGate* gate = nullptr;
  };
  SlotUse& Use(std::uint32_t slot);
  /// Negotiates an operation that has no slot, or whose slot stands for another request.
  void Ask(Operation& operation);
  bool WaitsForAgreement(const LiveRun& run) const;
  bool PollNegotiation(std::int64_t now_ns);
  /// Asks on behalf of join_, as soon as no round is under way.
  void AskToJoin();
  void OnRound();
  /// Begins the end: nothing more is agreed on, and operations that wait for that fail.
  void BeginClosing();
  std::exception_ptr WhyClosed() const;
  std::exception_ptr WhyRetired(const Bucket& bucket) const;
  void OnResponse(const Response& response);
  void OnForget(std::uint32_t slot);
  void OnGate(StepGate& gate, bool pass);
  /// Queues the run's exchange, which may start once the run is staged, in its turn.
  void Agree(LiveRun& run);
  /// Marks a run as agreed on in this round, for OnForget. Agree follows at the round's end.
  void Collect(LiveRun& run);
  void Exchanged(LiveRun& run);
  MeteredTransport::Use UseOf(const Bucket& bucket) const;

  SetNetwork network_;
  const Shared shared_;
  std::unique_ptr<OperationTable> operations_;
  std::unique_ptr<Negotiator> negotiator_;
  std::unique_ptr<Exchanger> exchanger_;
  std::unique_ptr<Exchanger> free_exchanger_;  ///< Runs what is not negotiated.
  std::unique_ptr<Joining> joining_;
  std::vector<SlotUse> slots_;
  std::unordered_map<std::string, Operation*> asked_;
  std::vector<LiveRun*> agreed_;  ///< Runs of one round.
  Operation* join_ = nullptr;     ///< Join that was not asked for yet.
  std::atomic<std::int64_t> last_agreed_ns_ = 0;
  bool closing_ = false;
  bool retired_ = false;
};

}  // namespace weir
