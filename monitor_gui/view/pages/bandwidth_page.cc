#include "monitor_gui/view/pages/bandwidth_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/tables/view_table.h"

namespace weir::monitor {
namespace {

constexpr double kMega = 1e6;

/// Growth per second of a count in states.
QList<QPointF> RateOf(const RankRun& rank, std::uint64_t StateRow::*count, std::int64_t origin_ns) {
  QList<QPointF> points;
  const auto& states = rank.states();
  for (std::size_t i = 1; i < states.size(); ++i) {
    const double seconds = static_cast<double>(states[i].time_ns - states[i - 1].time_ns) * 1e-9;
    if (seconds <= 0) continue;
    const auto bytes = static_cast<double>(states[i].*count - states[i - 1].*count);
    points.append(
        {static_cast<double>(states[i].time_ns - origin_ns) * 1e-9, bytes / seconds / kMega});
  }
  return points;
}

QList<QPointF> BytesOf(const RankRun& rank, std::uint64_t StepRow::*bytes) {
  QList<QPointF> points;
  for (const StepRow& step : rank.steps())
    points.append({static_cast<double>(step.step), static_cast<double>(step.*bytes) / kMega});
  return points;
}

QList<QPointF> WaitingOf(const RankRun& rank, Stage stage, std::int64_t origin_ns) {
  QList<QPointF> points;
  for (const StateRow& state : rank.states()) {
    points.append({static_cast<double>(state.time_ns - origin_ns) * 1e-9,
                   static_cast<double>(state.waiting[static_cast<std::size_t>(stage)])});
  }
  return points;
}

}  // namespace

BandwidthPage::BandwidthPage(QWidget* parent)
    : Page(parent),
      rank_(new QComboBox(this)),
      rate_(new LineChart(tr("Network"), tr("time [s]"), tr("MB/s"), LineChart::Scale::kLinear,
                          this)),
      step_bytes_(new LineChart(tr("A step's bytes"), tr("step"), tr("MB"),
                                LineChart::Scale::kLogarithmic, this)),
      waiting_(new LineChart(tr("Waiting"), tr("time [s]"), tr("buckets"),
                             LineChart::Scale::kLinear, this)),
      links_(new ChartLinks(*this, {step_bytes_}, {rate_, waiting_})) {
  rate_->setToolTip(
      tr("What the rank hands to the network and takes from it, negotiation included, "
         "looked at once a second. Algorithm bandwidth is the dense bytes of a step over "
         "its time; the rank's link has to carry only what is sent."));
  step_bytes_->setToolTip(
      tr("Payload: what the rank put into the step's exchanges. Dense: what that "
         "would have been uncompressed."));
  waiting_->setToolTip(
      tr("Buckets that wait for a stage at the moment of looking: a line that stays "
         "up shows what is too slow. Queue counts gradients whose bucket is not "
         "complete."));
  connect(rank_, &QComboBox::activated, this, [this] { chosen_ = true; });
  rank_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  for (LineChart* chart : {rate_, step_bytes_, waiting_})
    chart->SetEmptyText(tr("Nothing has been measured yet."));
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 8, 8, 0);
  auto* label = new QLabel(tr("Of"), this);
  label->setBuddy(rank_);
  bar->addWidget(label);
  bar->addWidget(rank_);
  bar->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(bar);
  for (LineChart* chart : {rate_, step_bytes_, waiting_}) layout->addWidget(chart, 1);
  LineChart::Align({rate_, step_bytes_, waiting_});
}

void BandwidthPage::ListRanks(const Run& run) {
  if (rank_->count() == static_cast<int>(run.ranks().size())) return;
  const QVariant chosen = chosen_ ? rank_->currentData() : QVariant(0);
  rank_->clear();
  for (const auto& [rank, known] : run.ranks()) {
    rank_->addItem(known.host().isEmpty() ? tr("rank %1").arg(rank)
                                          : tr("rank %1 on %2").arg(rank).arg(known.host()),
                   rank);
  }
  rank_->setCurrentIndex(std::max(0, rank_->findData(chosen)));
}

void BandwidthPage::Refresh(const Look& look) {
  ListRanks(look.run);
  const Theme theme = Theme::Of(palette());
  std::vector<LineChart::Line> rate;
  std::vector<LineChart::Line> bytes;
  std::vector<LineChart::Line> waiting;
  for (const Side& side : look.sides()) {
    const auto found = side.run.ranks().find(rank_->currentData().toInt());
    if (found == side.run.ranks().end()) continue;
    const RankRun& rank = found->second;
    const std::int64_t origin_ns = side.run.oldest_ns();
    rate.push_back(
        LineOf(side, tr("sent"), theme.accent, RateOf(rank, &StateRow::sent_bytes, origin_ns)));
    rate.push_back(LineOf(side, tr("received"), theme.merge,
                          RateOf(rank, &StateRow::received_bytes, origin_ns)));
    bytes.push_back(
        LineOf(side, tr("payload"), theme.accent, BytesOf(rank, &StepRow::payload_bytes)));
    bytes.push_back(LineOf(side, tr("dense"), theme.faint, BytesOf(rank, &StepRow::dense_bytes),
                           Part::kReference));
    waiting.push_back(LineOf(side, tr("for compression"), theme.compress,
                             WaitingOf(rank, Stage::kCompress, origin_ns)));
    waiting.push_back(LineOf(side, tr("for the exchange"), theme.exchange,
                             WaitingOf(rank, Stage::kExchange, origin_ns)));
    waiting.push_back(LineOf(side, tr("in the queue"), theme.faint,
                             WaitingOf(rank, Stage::kQueue, origin_ns), Part::kReference));
  }
  links_->Refresh(look);
  rate_->Show(rate);
  step_bytes_->Show(bytes);
  waiting_->Show(waiting);
}

void BandwidthPage::Hover(std::optional<std::int64_t> step) { links_->Hover(step); }

Table BandwidthPage::Export(const Look& /*look*/) const {
  return TableOf({rate_, step_bytes_, waiting_});
}

}  // namespace weir::monitor
