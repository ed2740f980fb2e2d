#include "metrics/steps/totals_reporter.h"

#include <chrono>
#include <span>
#include <utility>

#include "common/threads/thread_name.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kPause{250};
constexpr int kPausesOfReport = 4;
constexpr std::size_t kBatch = 512;

}  // namespace

TotalsReporter::TotalsReporter(const Recorder& recorder, const BucketNames& names,
                               const EngineGauges& gauges,
                               std::function<void(const std::string&)> send, int batch_size)
    : recorder_(recorder),
      gauges_(gauges),
      send_(std::move(send)),
      batch_size_(static_cast<std::uint64_t>(batch_size)),
      steps_(names),
      batch_(kBatch),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

TotalsReporter::~TotalsReporter() {
  thread_ = {};  // Stops and joins.
  Report();
}

void TotalsReporter::Report() {
  const std::lock_guard lock(mutex_);
  Drain();
  SendNews();
}

void TotalsReporter::Drain() {
  while (true) {
    const auto result = recorder_.Read(next_, batch_);
    next_ = result.next;
    lost_ += result.lost;
    for (const StageRecord& record : std::span(batch_).first(result.count)) {
      if (const auto step = steps_.Add(record)) AddStep(*step, totals_);
    }
    if (result.count == 0) return;
  }
}

void TotalsReporter::SendNews() {
  RankTotals totals = totals_;
  if (totals.steps() == 0) return;
  totals.sent_bytes = gauges_.gradient_traffic.total_sent() + gauges_.negotiation_bytes();
  totals.samples = totals.steps() * batch_size_;
  totals.lost_records = lost_;
  totals.stalled = gauges_.stalled_names(totals.stalled_tensors);
  totals.divergences = gauges_.divergences();
  totals.choices = gauges_.plans.Choices();
  std::string text = ToText(totals);
  if (text == sent_) return;
  send_(text);
  sent_ = std::move(text);
}

void TotalsReporter::Run(const std::stop_token& stop) {
  NameThread("weir-totals");
  std::unique_lock lock(mutex_);
  for (int pause = 1; !stop.stop_requested(); ++pause) {
    wake_.wait_for(lock, stop, kPause, [] { return false; });
    Drain();
    if (pause % kPausesOfReport == 0) SendNews();
  }
}

}  // namespace weir
