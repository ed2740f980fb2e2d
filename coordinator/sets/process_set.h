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
/// What is const, and the operations, are anybody's; the rest belongs to the network thread.
class ProcessSet {
 public:
  static constexpr int kGlobal = 0;

  /// What the sets of a rank have in common.
  struct Shared {
    const Settings& settings;
    LiveRuns& live;
    Pipeline& pipeline;
    HandleTable& handles;
    BucketNames& names;
    EngineGauges& gauges;
    MeteredTransport& meter;  ///< Below the networks of all sets.
    NetworkSpeed& speed;      ///< Of that.
    Recorder& recorder;
    const std::atomic<bool>& marks_cycles;  ///< Each round is recorded.
    GpuOffers& gpu_offers;
  };

  /// `ranks` of the job, ascending. Lane 0 is that of the whole job; any other keeps the set's
  /// messages apart (SubsetTransport). The network must outlive the set.
  ProcessSet(int id, std::vector<int> ranks, std::uint32_t lane, Transport& network,
             const Shared& shared);

  /// Its ranks, and the network between them.
  SetNetwork& network() { return network_; }
  int id() const { return network_.id(); }
  const std::vector<int>& ranks() const { return network_.ranks(); }
  int size() const { return network_.size(); }
  bool includes(int job_rank) const { return network_.includes(job_rank); }
  std::string Suffix() const { return network_.Suffix(); }

  // Of a member.

  Transport& transport() const { return network_.transport(); }
  OperationTable& operations() const { return *operations_; }
  Joining& joining() const { return *joining_; }
  Recorder& recorder() const { return shared_.recorder; }

  /// A bucket of gradients is complete on this rank since `ready_ns`: negotiates it.
  void OnReady(Bucket* bucket, std::int64_t ready_ns);
  /// The same of a single operation.
  void OnSubmitted(Operation* operation, std::int64_t ready_ns);
  /// Its next stage is the gate, or the exchange.
  void OnStaged(Bucket* bucket);
  /// Its run is over.
  void OnDone(Bucket* bucket);
  /// It is not ready after all, and nobody has agreed on it yet: takes OnReady and OnStaged back.
  void Withdraw(Bucket* bucket);
  /// Makes progress; true when something moved. Throws what the network throws.
  bool Poll(std::int64_t now_ns);

  /// From the next round on: the job ends. `leaves`: because of this rank.
  void AnnounceShutdown(bool leaves) { negotiator_->AnnounceShutdown(leaves); }
  /// All members know that the job ends: nothing more is agreed on.
  bool closing() const { return closing_; }
  /// Who was the first to leave, if it was a member; -1: unknown.
  int leaving_rank() const { return negotiator_->outcome().leaving_rank; }

  bool exchanging() const { return exchanger_->under_way() || free_exchanger_->under_way(); }
  bool round_under_way() const { return negotiator_->round_under_way(); }
  /// Something goes on that wakes nobody when it is through.
  bool must_poll() const { return network_.gpus().must_poll(); }
  std::size_t queued() const { return exchanger_->queued() + free_exchanger_->queued(); }
  /// When something was last agreed on. Any thread.
  std::int64_t last_agreed_ns() const { return last_agreed_ns_; }
  /// When the next round is due; 0: nothing calls for one.
  std::int64_t next_round_ns() const {
    return closing_ ? 0 : negotiator_->next_round_ns(exchanging());
  }
  /// The set is no more: what comes to it too late fails.
  void Retire();
  /// Gives everything up after a failure.
  void Cancel();

 private:
  struct SlotUse {
    Bucket* bucket = nullptr;
    Operation* operation = nullptr;  ///< The bucket, where it is one.
    StepGate* gate = nullptr;
  };
  SlotUse& Use(std::uint32_t slot);
  /// Negotiates an operation that has no slot, or another than it asks for.
  void Ask(Operation& operation);
  bool WaitsForAgreement(const LiveRun& run) const;
  bool PollNegotiation(std::int64_t now_ns);
  /// Asks on behalf of join_, as soon as no round is under way.
  void AskToJoin();
  void OnRound();
  /// Nothing more will be agreed on: what waits for that fails.
  void BeginClosing();
  std::exception_ptr WhyClosed() const;
  std::exception_ptr WhyRetired(const Bucket& bucket) const;
  void OnResponse(const Response& response);
  void OnForget(std::uint32_t slot);
  void OnGate(StepGate& gate, bool pass);
  /// Its exchange may start once the run is staged, in its turn.
  void Agree(LiveRun& run);
  /// Agreed on in this round, which who forgets its slot in it has to know; Agree comes at its end.
  void Collect(LiveRun& run);
  void Exchanged(LiveRun& run);
  MeteredTransport::Use UseOf(const Bucket& bucket) const;

  SetNetwork network_;
  const Shared shared_;
  std::unique_ptr<OperationTable> operations_;
  std::unique_ptr<Negotiator> negotiator_;
  std::unique_ptr<Exchanger> exchanger_;
  std::unique_ptr<Exchanger> free_exchanger_;  ///< Of what is not negotiated.
  std::unique_ptr<Joining> joining_;
  std::vector<SlotUse> slots_;
  std::unordered_map<std::string, Operation*> asked_;
  std::vector<LiveRun*> agreed_;  ///< Of one round.
  Operation* join_ = nullptr;     ///< Not asked for yet.
  std::atomic<std::int64_t> last_agreed_ns_ = 0;
  bool closing_ = false;
  bool retired_ = false;
};

}  // namespace weir
