#include "coordinator/rank/rank_report.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/clock.h"
#include "coordinator/operations/operation.h"

namespace weir {
namespace {

/// What a message calls a bucket.
std::string Quoted(const Bucket& bucket) {
  return "'" + bucket.name() + "'" + bucket.process_set->Suffix();
}

}  // namespace

ErrorContext RankReport::UnderWay(std::vector<int> ranks) const {
  if (live_.all().empty()) return {"", std::move(ranks), "idle"};
  const LiveRun& run = *live_.all().front();
  return {run.bucket->name(), std::move(ranks), run.agreed ? "exchange" : "negotiate"};
}

std::string RankReport::During() const {
  if (live_.all().empty()) return "";
  return " (phase " + UnderWay({}).phase + " of " + Quoted(*live_.all().front()->bucket) + ")";
}

std::string RankReport::EverythingUnderWay() const {
  std::string text;
  for (const auto& run : live_.all()) {
    if (!text.empty()) text += ", ";
    text += Quoted(*run->bucket) + (run->agreed ? " exchanging" : " waiting for other ranks");
  }
  return text.empty() ? "nothing" : text;
}

std::vector<StallInspector::Waiting> RankReport::WaitingForAgreement() const {
  std::vector<StallInspector::Waiting> waiting;
  for (const auto& run : live_.all()) {
    if (run->agreed || run->patient) continue;
    waiting.push_back({run->bucket->name(), run->ready_ns, run->bucket->process_set->id()});
  }
  return waiting;
}

std::vector<int> RankReport::Joined() const {
  std::vector<int> joined;
  for (const ProcessSet* set : sets_.own()) {
    // The others may not know it yet: somebody who is late holds up that round, too.
    const bool waits_to_join = std::ranges::any_of(live_.all(), [&](const auto& run) {
      return run->bucket->process_set == set && run->bucket->name() == kJoinName;
    });
    if (waits_to_join || set->joining().joined()) joined.push_back(set->id());
  }
  return joined;
}

StallInspector::Doing RankReport::Doing() const {
  return {WaitingForAgreement(), live_.last_finished(), Joined()};
}

FlightReport RankReport::Flight(const char* event, const std::string& reason) const {
  constexpr std::size_t kMostUnderWay = 256;  // The oldest; a job that hangs waits for them first.
  FlightReport report{.event = event, .reason = reason, .time_ns = NowNs()};
  for (const auto& run : live_.all()) {
    // For these nobody waits.
    if (!run->agreed && (run->patient || !run->bucket->negotiated())) continue;
    if (report.under_way.size() == kMostUnderWay) break;
    report.under_way.push_back({.name = run->bucket->name(),
                                .process_set = run->bucket->process_set->id(),
                                .agreed = run->agreed,
                                .since_ns = run->agreed ? run->agreed_ns : run->ready_ns});
  }
  report.last_finished = live_.last_finished();
  report.joined = Joined();
  return report;
}

}  // namespace weir
