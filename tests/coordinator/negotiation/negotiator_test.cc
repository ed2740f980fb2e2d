#include "coordinator/negotiation/negotiator.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ops/local/transport.h"
#include "tests/ops/transport/forwarding_transport.h"

namespace weir {
namespace {

/// Counts the messages that are not urgent.
class UrgencyCheck final : public ForwardingTransport {
 public:
  UrgencyCheck(std::unique_ptr<Transport> inner, int& leisurely)
      : ForwardingTransport(std::move(inner)), leisurely_(leisurely) {}
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    leisurely_ += tag.urgent ? 0 : 1;
    return inner().Send(peer, tag, data);
  }
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override {
    leisurely_ += tag.urgent ? 0 : 1;
    return inner().Receive(peer, tag, buffer);
  }

 private:
  int& leisurely_;
};

/// The negotiators of a job, driven by hand: time is a number, and every round is visible.
class Job {
 public:
  explicit Job(int ranks, std::uint32_t cache_capacity = 1024) : network_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      transports_.push_back(std::make_unique<UrgencyCheck>(network_.Endpoint(rank), leisurely_));
      negotiators_.push_back(
          std::make_unique<Negotiator>(*transports_.back(), cache_capacity, Negotiator::Timing{}));
    }
    outcomes_.resize(static_cast<std::size_t>(ranks));
  }

  int leisurely_messages() const { return leisurely_; }
  Negotiator& operator[](int rank) { return *negotiators_[static_cast<std::size_t>(rank)]; }
  /// Outcomes of a rank's rounds since the last Settle.
  const std::vector<Negotiator::Outcome>& outcomes(int rank) const {
    return outcomes_[static_cast<std::size_t>(rank)];
  }

  /// Polls every rank until nothing can move any more.
  void Settle() {
    for (auto& list : outcomes_) list.clear();
    for (int quiet = 0; quiet < 20; ++quiet) {
      now_ns_ += 2'000'000;  // Longer than any pause.
      for (std::size_t rank = 0; rank < negotiators_.size(); ++rank) {
        if (!negotiators_[rank]->Poll(now_ns_, false)) continue;
        outcomes_[rank].push_back(negotiators_[rank]->outcome());
        if (!outcomes_[rank].back().ready.empty() || !outcomes_[rank].back().responses.empty()) {
          quiet = 0;
        }
      }
    }
  }

  /// The slot every rank was given for `name` in the last Settle.
  std::uint32_t SlotOf(const std::string& name) const {
    for (const Negotiator::Outcome& outcome : outcomes_[0]) {
      for (const Response& response : outcome.responses) {
        if (response.name == name && response.kind == Response::Kind::kReady) return response.slot;
      }
    }
    ADD_FAILURE() << name << " was not agreed on";
    return kNoSlot;
  }

 private:
  local::Network network_;
  int leisurely_ = 0;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<Negotiator>> negotiators_;
  std::vector<std::vector<Negotiator::Outcome>> outcomes_;
  std::int64_t now_ns_ = 0;
};

Request Ask(const std::string& name, Shape shape = Shape{3}) {
  return {.kind = RequestKind::kAllreduce, .name = name, .shape = shape};
}

bool Agreed(const Job& job, int rank, const std::string& name) {
  for (const Negotiator::Outcome& outcome : job.outcomes(rank)) {
    for (const Response& response : outcome.responses) {
      if (response.name == name && response.kind == Response::Kind::kReady) return true;
    }
  }
  return false;
}

TEST(Negotiator, AllItsMessagesAreUrgent) {
  Job job(3);
  for (int rank = 0; rank < 3; ++rank) job[rank].Ask(Ask("x"));
  job.Settle();
  EXPECT_TRUE(Agreed(job, 2, "x"));
  EXPECT_EQ(job.leisurely_messages(), 0);
}

TEST(Negotiator, ANameIsAgreedOnOnceEveryRankHasAsked) {
  Job job(3);
  job[0].Ask(Ask("x"));
  job[2].Ask(Ask("x"));
  job.Settle();
  EXPECT_FALSE(Agreed(job, 0, "x"));
  job[1].Ask(Ask("x"));
  job.Settle();
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(Agreed(job, rank, "x")) << rank;
}

TEST(Negotiator, ARankThatHasAskedStaysInTheRoundsForThoseThatAskLater) {
  Job job(2);
  job[0].Ask(Ask("early"));
  job[1].Ask(Ask("other"));
  job.Settle();  // A slow round has carried both questions; neither has an answer.
  job[1].Ask(Ask("early"));
  job.Settle();
  EXPECT_TRUE(Agreed(job, 0, "early"));
  EXPECT_TRUE(Agreed(job, 1, "early"));
}

TEST(Negotiator, ASlotIsReadyOnceEveryRankSaysSo) {
  Job job(3);
  for (int rank = 0; rank < 3; ++rank) job[rank].Ask(Ask("x"));
  job.Settle();
  const std::uint32_t slot = job.SlotOf("x");
  job[0].MarkReady(slot);
  job[1].MarkReady(slot);
  job.Settle();
  EXPECT_TRUE(job.outcomes(0).empty());
  job[2].MarkReady(slot);
  job.Settle();
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_FALSE(job.outcomes(rank).empty());
    EXPECT_EQ(job.outcomes(rank).back().ready, std::vector<std::uint32_t>{slot});
    EXPECT_FALSE(job.outcomes(rank).back().slow_path);
  }
}

TEST(Negotiator, TheNetworkIsFastOnceEveryRankFindsItFast) {
  Job job(3);
  const auto fast = [&job](const std::string& name) {
    for (int rank = 0; rank < 3; ++rank) job[rank].Ask(Ask(name));
    job.Settle();
    std::vector<bool> found;
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(Agreed(job, rank, name)) << rank;
      found.push_back(job.outcomes(rank).back().fast_network);
    }
    return found;
  };
  EXPECT_EQ(fast("x"), std::vector<bool>(3, false));
  job[0].SetFastNetwork(true);
  job[2].SetFastNetwork(true);
  EXPECT_EQ(fast("y"), std::vector<bool>(3, false));
  job[1].SetFastNetwork(true);
  EXPECT_EQ(fast("z"), std::vector<bool>(3, true));
  job[2].SetFastNetwork(false);
  EXPECT_EQ(fast("w"), std::vector<bool>(3, false));
}

TEST(Negotiator, AnIdleJobStartsNoRound) {
  Job job(2);
  job.Settle();
  EXPECT_FALSE(job[0].round_under_way());
  EXPECT_EQ(job[0].next_round_ns(false), 0);
}

TEST(Negotiator, ANewShapeForgetsTheSlotOnEveryRank) {
  Job job(2);
  for (int rank = 0; rank < 2; ++rank) job[rank].Ask(Ask("x"));
  job.Settle();
  const std::uint32_t slot = job.SlotOf("x");
  job[0].Ask(Ask("x", Shape{4}));
  job[1].MarkReady(slot);
  job.Settle();
  bool forgotten = false;
  for (const Negotiator::Outcome& outcome : job.outcomes(1)) {
    for (const Response& response : outcome.responses) {
      forgotten = forgotten || (response.kind == Response::Kind::kForget && response.slot == slot);
    }
  }
  EXPECT_TRUE(forgotten);
}

TEST(Negotiator, BeyondTheCacheNamesStayOnTheSlowPath) {
  Job job(2, 1);
  for (int rank = 0; rank < 2; ++rank) {
    job[rank].Ask(Ask("first"));
    job[rank].Ask(Ask("second"));
  }
  job.Settle();
  EXPECT_NE(job.SlotOf("first"), kNoSlot);
  EXPECT_EQ(job.SlotOf("second"), kNoSlot);
}

TEST(Negotiator, OneRanksShutdownIsSeenByAll) {
  Job job(3);
  job[1].AnnounceShutdown(true);
  job[0].Ask(Ask("x"));
  job[2].Ask(Ask("x"));
  job.Settle();
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_FALSE(job.outcomes(rank).empty()) << rank;
    EXPECT_TRUE(job.outcomes(rank).front().shutdown) << rank;
  }
}

}  // namespace
}  // namespace weir
