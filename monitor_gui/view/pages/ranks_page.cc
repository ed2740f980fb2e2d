#include "monitor_gui/view/pages/ranks_page.h"

#include <QDateTime>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>
#include <span>

#include "monitor_gui/run/stalls.h"
#include "monitor_gui/run/summary.h"
#include "monitor_gui/view/tables/view_table.h"

namespace weir::monitor {
namespace {

constexpr std::size_t kColumns = 14;
constexpr int kMissing = kColumns - 2;
constexpr int kNotSubmitted = kColumns - 1;
constexpr std::size_t kTimes = 5;  // Columns of steps with times.
constexpr std::size_t kTensorsNamed = 2;

/// State at a moment. `known`: null if nothing is known of the rank.
QString StateOf(const RankLink& link, const RankRun* known, std::int64_t now_ns) {
  // The reason for a failure is shown above all pages.
  if (known != nullptr && known->end() && known->end()->time_ns <= now_ns)
    return known->end()->failure.isEmpty() ? QObject::tr("ended") : QObject::tr("failed");
  switch (link.state) {
    case RankLink::State::kRecorded:
      return QObject::tr("recorded");
    case RankLink::State::kConnecting:
      return QObject::tr("connecting");
    case RankLink::State::kLive:
      return QObject::tr("live");
    case RankLink::State::kLost:
      return QObject::tr("lost: %1").arg(link.detail);
  }
  return {};
}

Cell HeardOf(const RankLink& link) {
  if (link.heard_ms == 0) return UnknownCell();
  const std::int64_t ago_ms = QDateTime::currentMSecsSinceEpoch() - link.heard_ms;
  const double ago = static_cast<double>(std::max<std::int64_t>(ago_ms, 0)) / 1e3;
  return {QObject::tr("%1 s ago").arg(ago, 0, 'f', 0), ago};
}

Cell LastOperation(const RankRun& rank, std::int64_t until_ns) {
  const std::ptrdiff_t count = rank.StagesUntil(until_ns);
  if (count == 0) return UnknownCell();
  const StageRow& last = rank.stages()[static_cast<std::size_t>(count - 1)];
  const QString name = rank.NameOf(last.bucket).name;
  return last.ok ? QObject::tr("%1 of %2").arg(Name(last.stage), name)
                 : QObject::tr("%1 of %2, failed").arg(Name(last.stage), name);
}

Cell Stalled(const RankRun& rank, std::int64_t until_ns) {
  const auto states = rank.StatesUntil(until_ns);
  return states.empty() ? UnknownCell() : NumberCell(states.back().stalled_tensors);
}

/// Parts that were lost before they could be shown.
Cell Missing(const RankRun& rank) {
  QStringList parts;
  if (rank.lost_records() > 0) parts += QObject::tr("%1 records").arg(rank.lost_records());
  if (rank.lost_blocks() > 0) parts += QObject::tr("%1 blocks").arg(rank.lost_blocks());
  return {parts.join(", "), static_cast<qulonglong>(rank.lost_records() + rank.lost_blocks())};
}

/// Tensors that others wait for, and this rank has not submitted.
Cell NotSubmitted(const Side& side, int rank) {
  const std::int64_t now_ns = StateEnd(side.run, side.at);
  QStringList named;
  qlonglong count = 0;
  for (const StalledTensor& tensor : StallsAt(side.run, now_ns).tensors) {
    if (std::ranges::find(tensor.missing, rank) == tensor.missing.end()) continue;
    if (++count > static_cast<qlonglong>(kTensorsNamed)) continue;
    named +=
        QObject::tr("%1 (%2)").arg(tensor.FullName(), ShortSeconds(tensor.WaitedSeconds(now_ns)));
  }
  if (count == 0) return {QString(), 0};
  const qlonglong more = count - named.size();
  const QString text = named.join(", ");
  return {more == 0 ? text : QObject::tr("%1 and %2 more").arg(text).arg(more), count};
}

QStringList StalledLines(const Look& look) {
  QStringList lines;
  for (const Side& side : look.sides()) {
    const std::int64_t now_ns = StateEnd(side.run, side.at);
    for (const QString& line : SentencesOf(StallsAt(side.run, now_ns), now_ns))
      lines += side.label.isEmpty() ? line : QObject::tr("%1: %2").arg(side.label, line);
  }
  return lines;
}

Cells RowOf(const Side& side, int rank, const RankLink& link) {
  const auto found = side.run.ranks().find(rank);
  const RankRun* const known = found == side.run.ranks().end() ? nullptr : &found->second;
  Cells row = {side.label, NumberCell(rank), known == nullptr ? UnknownCell() : known->host(),
               StateOf(link, known, StateEnd(side.run, side.at)), HeardOf(link)};
  if (known == nullptr) {
    row.resize(kColumns, UnknownCell());
    return row;
  }
  const auto steps = known->StepsUntil(side.at.step, Summary::kSteps);
  if (steps.empty()) {
    row.resize(row.size() + kTimes, UnknownCell());
  } else {
    const MeanTimes times = MeanTimesOf(steps);
    row.insert(row.end(),
               {NumberCell(steps.back().step), SecondsCell(times.step), SecondsCell(times.own()),
                SecondsCell(times.communication), SecondsCell(times.compression)});
  }
  row.insert(row.end(),
             {LastOperation(*known, side.at.end_ns), Stalled(*known, StateEnd(side.run, side.at)),
              Missing(*known), NotSubmitted(side, rank)});
  return row;
}

}  // namespace

RanksPage::RanksPage(QWidget* parent)
    : Page(parent),
      table_(
          {{tr("Run"), tr("A, or B that it is compared with.")},
           {tr("Rank"), tr("Its number in the job."), true},
           {tr("Host"), tr("Where it runs, as it calls itself.")},
           {tr("State"),
            tr("How it is followed. One that has ended or failed has said so. A lost one does not "
               "answer: it was killed, or the network to it is down.")},
           {tr("Heard"), tr("When it answered last."), true, "s"},
           {tr("Step"), tr("The newest one that it has finished."), true},
           {tr("Step time"), tr("From the end of the step before, mean of the newest steps."), true,
            "s"},
           {tr("Own work"),
            tr("That without exposed communication: a rank whose own work takes "
               "longer than the others' holds them up."),
            true, "s"},
           {tr("Exposed comm."), tr("Time of a step in which it only waited for the exchange."),
            true, "s"},
           {tr("Exposed compr."), tr("Time of a step in which it only compressed or merged."), true,
            "s"},
           {tr("Last operation"), tr("The newest stage that it has finished.")},
           {tr("Stalled"),
            tr("Tensors that some ranks submitted and others did not, as far as this "
               "rank knows."),
            true},
           {tr("Missing"),
            tr("What these pages lack of it: records that were overwritten before its monitor had "
               "read them, and blocks of its log that were gone before they were asked for.")},
           {tr("Not submitted"), tr("Tensors that other ranks wait with because this one has not "
                                    "submitted them, and for "
                                    "how long the first of them has waited.")}},
          this),
      stalls_(new QLabel(this)) {
  stalls_->setMargin(8);
  stalls_->setTextFormat(Qt::PlainText);  // Names come from the program.
  stalls_->setWordWrap(true);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  view_ = table_.MakeView(10, tr("No rank is known yet."), this);
  // Names may be long: they get the room that the numbers leave, and
  // their tooltips show all of it.
  view_->horizontalHeader()->setSectionResizeMode(kNotSubmitted, QHeaderView::Stretch);
  layout->addWidget(stalls_);
  layout->addWidget(view_);
}

void RanksPage::Refresh(const Look& look) {
  std::vector<Cells> rows;
  for (const Side& side : look.sides())
    for (const auto& [rank, link] : side.run.links()) rows.push_back(RowOf(side, rank, link));
  view_->setColumnHidden(0, look.other == nullptr);
  const QStringList stalled = StalledLines(look);
  view_->setColumnHidden(kNotSubmitted, stalled.isEmpty());
  view_->setColumnHidden(kMissing, std::ranges::all_of(rows, [](const Cells& row) {
                           return row[kMissing].value.toULongLong() == 0;
                         }));
  stalls_->setVisible(!stalled.isEmpty());
  stalls_->setText(stalled.join('\n'));
  table_.Show(std::move(rows));
}

Table RanksPage::Export(const Look& /*look*/) const { return TableOf(*view_); }

}  // namespace weir::monitor
