#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/negotiation/arbiter.h"
#include "coordinator/negotiation/request.h"
#include "ops/collectives/and_reduce.h"
#include "ops/exchanges/broadcast_bytes.h"
#include "ops/exchanges/gather_to_root.h"
#include "ops/transport/urgent_transport.h"

namespace weir {

/// Finds, round by round, the names that are ready on every rank.
///
/// A round is one bitwise AND of a few words: a word of flags and one bit a slot. Slots are the
/// small ids of earlier agreements (the fast path). When some rank has a name without a slot, the
/// round goes on with the slow path: requests go to rank 0, whose Arbiter compares them, and its
/// answers go to all. Rounds are collective and every rank processes their results in the same
/// order, so all ranks know the same slots at the same round.
///
/// A rank takes part only while it has something to say. A round that makes nothing ready doubles
/// the pause before this rank starts the next one. Network thread only.
class Negotiator {
 public:
  struct Timing {
    std::int64_t first_pause_ns = 50'000;
    std::int64_t longest_pause_ns = 1'000'000;
    /// Shorter gaps would gain nothing while exchanges are under way.
    std::int64_t busy_gap_ns = 200'000;
  };
  /// Results of one round, in the order every rank sees.
  struct Outcome {
    std::vector<std::uint32_t> ready;  ///< Slots, ascending.
    std::vector<Response> responses;
    bool shutdown = false;  ///< Some rank announced it: no further agreements.
    int leaving_rank = -1;  ///< First such rank in the job; -1: none, or only the 62nd or later.
    bool fast_network = false;  ///< Every rank finds it fast.
    bool slow_path = false;
    std::int64_t started_ns = 0;
  };

  Negotiator(Transport& transport, std::uint32_t cache_capacity, const Timing& timing);

  /// Marks this slot as ready here. It stays so until a round reports it or Withdraw.
  void MarkReady(std::uint32_t slot);
  void Withdraw(std::uint32_t slot);
  /// Asks on the slow path, once per name until its response.
  void Ask(Request request);
  /// Tells, from the next round on, whether this rank finds the network fast (NetworkSpeed).
  void SetFastNetwork(bool fast) { fast_network_ = fast; }
  /// Tells, from the next round on, that the job ends. `leaves`: because of this rank.
  void AnnounceShutdown(bool leaves) {
    shutting_down_ = true;
    leaves_ = leaves_ || leaves;
  }

  /// Makes progress at time `now_ns`. `busy`: exchanges are under way. True when a round has ended;
  /// its outcome stays until the next call. Throws the transport's errors and Corrupt.
  bool Poll(std::int64_t now_ns, bool busy);
  const Outcome& outcome() const { return outcome_; }

  bool round_under_way() const { return phase_ != Phase::kIdle; }
  /// Time of the next round; 0 when none is needed or one is under way.
  std::int64_t next_round_ns(bool busy) const;
  void Cancel();

 private:
  enum class Phase { kIdle, kAnd, kGather, kBroadcast };

  /// True if something is not agreed on. Unanswered requests count, because ranks that have not
  /// asked yet need this one in the round in which they do.
  bool wants() const {
    return ready_count_ > 0 || !asks_.empty() || !asked_slots_.empty() || shutting_down_;
  }
  void StartRound(std::int64_t now_ns);
  void FinishAnd();
  void StartBroadcast();
  void FinishBroadcast();
  bool FinishRound(std::int64_t now_ns);
  bool IsReady(std::uint32_t slot) const;

  UrgentTransport transport_;  // Before what uses it.
  const Timing timing_;
  Arbiter arbiter_;
  AndReduce and_;
  GatherToRoot gather_;
  BroadcastBytes broadcast_;

  Phase phase_ = Phase::kIdle;
  bool shutting_down_ = false;
  bool leaves_ = false;
  bool fast_network_ = false;
  bool joined_ = false;           ///< Answers may be about requests of other ranks only.
  std::uint32_t slot_limit_ = 0;  ///< Slots below this exist; equal on all ranks.
  std::vector<std::uint64_t> ready_;
  std::size_t ready_count_ = 0;
  std::vector<Request> asks_;  ///< Not yet sent.
  std::unordered_map<std::string, std::uint32_t>
      asked_slots_;  ///< Sent, with the number of slots that each wants.
  std::vector<std::uint64_t> words_;
  std::vector<std::byte> message_;
  Outcome outcome_;
  std::int64_t round_start_ns_ = 0;
  std::int64_t pause_ns_ = 0;
  std::int64_t pause_from_ns_ = 0;
};

}  // namespace weir
