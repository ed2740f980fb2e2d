// What agreeing costs as the number of ranks grows: the real Negotiator and Arbiter of every rank,
// on a network in virtual time. Times are virtual; those of a processor are measured, on rank 0.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/main.h"
#include "benchmarks/model_shapes.h"
#include "benchmarks/report.h"
#include "benchmarks/virtual_network.h"
#include "common/clock.h"
#include "coordinator/negotiation/negotiator.h"

namespace weir::bench {
namespace {

struct Options {
  int most = 16384;
};

/// The negotiators of a job.
class Job {
 public:
  explicit Job(int ranks) : network_(ranks, {}) {
    for (int rank = 0; rank < ranks; ++rank) {
      negotiators_.push_back(
          std::make_unique<Negotiator>(network_[rank], 1024, Negotiator::Timing{}));
    }
  }
  int ranks() const { return static_cast<int>(negotiators_.size()); }

  struct Cost {
    double us = 0;             ///< Until the last rank knows, in virtual time.
    double messages = 0;       ///< That rank 0 receives.
    double bytes = 0;          ///< That rank 0 receives.
    double rank_0_cpu_us = 0;  ///< Of the processor, polls without success too.
    double rounds = 0;
  };
  /// Lets each rank say something, and runs rounds until each has heard what it waits for.
  Cost Agree(const std::function<void(Negotiator&, int rank)>& say,
             const std::function<bool(const Negotiator::Outcome&)>& hears) {
    std::int64_t begin_ns = 0;
    for (int rank = 0; rank < ranks(); ++rank) begin_ns = std::max(begin_ns, network_.now_ns(rank));
    const NetworkTotals before = network_.totals(0);
    for (int rank = 0; rank < ranks(); ++rank) {
      say(*negotiators_[static_cast<std::size_t>(rank)], rank);
      network_.WakeAt(rank, begin_ns);
    }
    Cost cost;
    std::int64_t now_ns = 0;
    for (int left = ranks(); left > 0;) {
      const int rank = network_.Next(now_ns);
      if (rank < 0) throw std::runtime_error("the ranks wait for each other for ever");
      Negotiator& negotiator = *negotiators_[static_cast<std::size_t>(rank)];
      const std::int64_t poll_ns = NowNs();
      const bool round = negotiator.Poll(now_ns, /*busy=*/false);
      if (rank == 0) cost.rank_0_cpu_us += static_cast<double>(NowNs() - poll_ns) / 1e3;
      if (round) {
        if (rank == 0) ++cost.rounds;
        if (hears(negotiator.outcome())) {
          --left;
          cost.us = std::max(cost.us, static_cast<double>(network_.now_ns(rank) - begin_ns) / 1e3);
        }
      }
      if (const std::int64_t next_ns = negotiator.next_round_ns(false); next_ns > 0) {
        network_.WakeAt(rank, std::max(next_ns, network_.now_ns(rank)));
      }
    }
    const NetworkTotals after = network_.totals(0);
    cost.messages = static_cast<double>(after.received_messages - before.received_messages);
    cost.bytes = static_cast<double>(after.received_bytes - before.received_bytes);
    return cost;
  }

 private:
  VirtualNetwork network_;
  std::vector<std::unique_ptr<Negotiator>> negotiators_;
};

bool IsAbout(const Negotiator::Outcome& outcome, const std::string& name, std::uint32_t* slot) {
  for (const Response& response : outcome.responses) {
    if (response.name != name) continue;
    if (slot != nullptr) *slot = response.slot;
    return true;
  }
  return false;
}

Request Registration() {
  Request request{.kind = RequestKind::kGroup, .name = "model", .slots = 8};
  for (const NamedShape& one : ResNet50()) {
    request.members.push_back({one.name, DType::kFloat32, one.shape});
    request.settings.emplace_back("priority of " + one.name, "0");
  }
  return request;
}

Row RowOf(int ranks, const std::string& what, const Job::Cost& cost) {
  return {{"ranks", ranks},
          {"what", what},
          {"rounds", cost.rounds},
          {"us", cost.us},
          {"us / log2(ranks)", cost.us / std::log2(ranks)},
          {"messages to rank 0", cost.messages},
          {"bytes to rank 0", cost.bytes},
          {"CPU of rank 0, us", cost.rank_0_cpu_us}};
}

Report Run(const Options& options) {
  Report report("negotiation-scale");
  double first[3] = {};
  double last[3] = {};
  for (int ranks = 16; ranks <= options.most; ranks *= 4) {
    Job job(ranks);
    std::uint32_t slot = kNoSlot;
    const Request registration = Registration();
    const auto hears = [&](const std::string& name) {
      return [&slot, name](const Negotiator::Outcome& outcome) {
        return IsAbout(outcome, name, &slot);
      };
    };
    const Job::Cost registered =
        job.Agree([&](Negotiator& one, int) { one.Ask(registration); }, hears("model"));
    const std::uint32_t bucket = slot;
    const Job::Cost ready = job.Agree([&](Negotiator& one, int) { one.MarkReady(bucket); },
                                      [&](const Negotiator::Outcome& outcome) {
                                        return std::ranges::binary_search(outcome.ready, bucket);
                                      });
    const Job::Cost named = job.Agree(
        [](Negotiator& one, int) {
          one.Ask({.kind = RequestKind::kAllreduce, .name = "loss", .shape = Shape{1}});
        },
        hears("loss"));
    // Every rank has rows of its own, which all must know: no tree makes that less.
    const Job::Cost rows = job.Agree(
        [](Negotiator& one, int rank) {
          one.Ask({.kind = RequestKind::kAllgather, .name = "rows", .shape = Shape{rank + 1, 4}});
        },
        hears("rows"));
    const std::pair<const char*, const Job::Cost*> all[] = {{"a bucket with a slot", &ready},
                                                            {"a new name", &named},
                                                            {"161 tensors registered", &registered},
                                                            {"rows that differ", &rows}};
    for (const auto& [what, cost] : all) report.AddRow(RowOf(ranks, what, *cost));
    for (std::size_t i = 0; i < 3; ++i) {
      last[i] = all[i].second->us / std::log2(ranks);
      if (first[i] == 0.0) first[i] = last[i];
      if (ranks * 4 > options.most) {
        report.AddTarget(std::string(all[i].first) + ": time / log2(ranks), over that of 16 ranks",
                         last[i] / first[i], "<=", 1.5);
      }
    }
  }
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::Main(
      {"negotiation-scale",
       "What agreeing costs on up to thousands of ranks, in virtual time",
       {{"--most", &options.most, "Most ranks; from 16 on, four times as many"}}},
      argc, argv, [&] { return weir::bench::Run(options); });
}
