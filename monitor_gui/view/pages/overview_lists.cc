#include "monitor_gui/view/pages/overview_lists.h"

#include <QDateTime>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "monitor_gui/run/advice.h"
#include "monitor_gui/run/plans.h"
#include "monitor_gui/run/slowest_layers.h"
#include "monitor_gui/view/style/metric_text.h"
#include "monitor_gui/view/style/section.h"
#include "monitor_gui/view/style/table_style.h"
#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/tables/bar_delegate.h"
#include "monitor_gui/view/tables/roles.h"

namespace weir::monitor {
namespace {

constexpr int kLatency = 1;   // Column of the slowest layers.
constexpr int kNewsStep = 0;  // Column of the changes.
constexpr int kOwnWork = 3;   // Column of the ranks.
constexpr int kHighEnoughForRanks = 720;
constexpr std::size_t kMostAdvice = 4;

std::vector<ColumnHead> SlowHeads() {
  const auto head = [](Metric metric) {
    return ColumnHead{
        .title = Name(metric),
        .explanation = Explanation(metric) + QObject::tr(" Mean over ranks, of the newest steps."),
        .is_number = true,
        .unit = Unit(metric)};
  };
  return {{QObject::tr("Layer"), QObject::tr("A click chooses it in all pages.")},
          head(Metric::kLatency),
          {QObject::tr("Worst rank"), QObject::tr("Latency of the rank that waited longest."), true,
           "s"},
          head(Metric::kPayload),
          head(Metric::kDensity)};
}

std::vector<ColumnHead> NewsHeads() {
  return {
      {QObject::tr("Step"), QObject::tr("From which it holds. A click shows that step."), true},
      {QObject::tr("What changed"), QObject::tr("A search tries plans, and keeps the fastest.")},
      {QObject::tr("Holds"), QObject::tr("At the step that is shown.")}};
}

std::vector<ColumnHead> RankHeads() {
  return {{QObject::tr("Run"), QObject::tr("A, or B that it is compared with.")},
          {QObject::tr("Rank"), QObject::tr("Its number in the job."), true},
          {QObject::tr("Host"), QObject::tr("Where it runs, as it calls itself.")},
          {QObject::tr("Own work"),
           QObject::tr("A step without exposed communication: the rank with most of it is the one "
                       "that the others wait for."),
           true, "s"},
          {QObject::tr("Exposed comm."),
           QObject::tr("Time of a step in which it only waited for the exchange."), true, "s"},
          {QObject::tr("Exposed compr."),
           QObject::tr("Time of a step in which it only compressed or merged."), true, "s"}};
}

Cell MetricCell(const Statistic& of, Metric metric) {
  if (of.count == 0) return UnknownCell();
  const auto value = static_cast<double>(of.mean());
  return {Text(metric, value), value};
}

QColor ColorOf(Advice::Weight weight, const Theme& theme) {
  switch (weight) {
    case Advice::Weight::kGood:
      return theme.good;
    case Advice::Weight::kHint:
      return theme.accent;
    case Advice::Weight::kWarning:
      return theme.warning;
    case Advice::Weight::kBad:
      return theme.bad;
  }
  return theme.faint;
}

QString LineOf(const Advice& advice, const QString& run, const QPalette& palette) {
  const Theme theme = Theme::Of(palette);
  QString text = advice.text.toHtmlEscaped();
  if (!run.isEmpty()) text.prepend(run + ": ");
  if (!advice.page.isEmpty()) text += " " + PageLink(advice.page, palette);
  return QString("<tr><td style=\"color:%1\">●&nbsp;</td><td>%2</td></tr>")
      .arg(ColorOf(advice.weight, theme).name(), text);
}

}  // namespace

OverviewLists::OverviewLists(Page& page)
    : QWidget(&page),
      advice_(new QLabel(this)),
      layers_(SlowHeads(), this),
      layers_view_(layers_.MakeView(0, tr("No layer has sent a gradient yet."), this)),
      plans_(new QLabel(this)),
      changes_(NewsHeads(), this),
      changes_view_(changes_.MakeView(1, tr("The plan has not changed yet."), this)),
      ranks_(RankHeads(), this),
      ranks_section_(new QWidget(this)),
      ranks_view_(ranks_.MakeView(2, tr("No rank has finished a step yet."), ranks_section_)) {
  ranks_view_->setObjectName("ranks");
  advice_->setObjectName("advice");
  plans_->setObjectName("plans");
  layers_view_->setObjectName("slowest");
  changes_view_->setObjectName("changes");
  for (QLabel* label : {advice_, plans_}) {
    label->setWordWrap(true);
    label->setContentsMargins(8, 0, 8, 6);
    label->setTextFormat(Qt::RichText);
    label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  }
  layers_view_->setItemDelegateForColumn(kLatency, new BarDelegate(layers_view_));
  layers_view_->setSelectionMode(QAbstractItemView::SingleSelection);
  changes_view_->horizontalHeader()->hide();
  auto* const layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  setBackgroundRole(QPalette::Base);
  setAutoFillBackground(true);
  layers_view_->setTextElideMode(Qt::ElideMiddle);
  layout->addWidget(SectionTitle(tr("What to do"), this));
  layout->addWidget(advice_);
  layout->addWidget(SectionTitle(tr("Slowest layers"), this, "layers"));
  layout->addWidget(layers_view_, 3);
  layout->addWidget(SectionTitle(tr("Decisions"), this, "decisions"));
  layout->addWidget(plans_);
  layout->addWidget(changes_view_, 2);
  auto* const ranks = new QVBoxLayout(ranks_section_);
  ranks->setContentsMargins(0, 0, 0, 0);
  ranks->setSpacing(0);
  ranks->addWidget(SectionTitle(tr("Ranks"), ranks_section_, "ranks"));
  ranks->addWidget(ranks_view_, 1);
  ranks->addStretch(0);
  ranks_view_->setItemDelegateForColumn(kOwnWork, new BarDelegate(ranks_view_));
  layout->addWidget(ranks_section_, 2);
  layout->addStretch(1);
  for (QLabel* label : findChildren<QLabel*>()) {
    connect(label, &QLabel::linkActivated, &page, &Page::PageWanted);
  }
  connect(layers_view_, &QTableView::clicked, &page, [&page](const QModelIndex& index) {
    emit page.LayerChosen(index.siblingAtColumn(0).data(kValueRole).toString());
  });
  connect(changes_view_, &QTableView::clicked, &page, [&page](const QModelIndex& index) {
    emit page.StepChosen(index.siblingAtColumn(kNewsStep).data(kValueRole).toLongLong());
  });
}

void OverviewLists::Refresh(const Look& look) {
  ShowAdvice(look);
  ShowLayers(look);
  ShowDecisions(look);
  ShowRanks(look);
  ShowSections();
}

void OverviewLists::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  ShowSections();
}

void OverviewLists::ShowSections() {
  const bool has_changes = changes_.rowCount() > 1;
  changes_view_->setVisible(has_changes);
  ranks_section_->setVisible(!has_changes || height() >= kHighEnoughForRanks);
  // What one list does not need is there for the next.
  for (QTableView* view : {layers_view_, changes_view_, ranks_view_})
    view->setMaximumHeight(ContentHeight(*view));
}

void OverviewLists::ShowAdvice(const Look& look) {
  QString lines;
  for (const Side& side : look.sides()) {
    const Summary summary = Summarise(side.run, QDateTime::currentMSecsSinceEpoch(), side.at);
    for (const Advice& advice :
         AdviceOf(side.run, summary, side.at) | std::views::take(kMostAdvice))
      lines += LineOf(advice, side.label, palette());
  }
  if (lines.isEmpty()) lines = "<tr><td>" + tr("No step has ended yet.") + "</td></tr>";
  advice_->setText("<table cellpadding=\"1\">" + lines + "</table>");
}

void OverviewLists::ShowLayers(const Look& look) {
  const LayerHistory& history = look.run.layers();
  std::vector<Cells> rows;
  for (const SlowLayer& slow : SlowestLayers(history, look.at.step, kLayers)) {
    const auto worst = static_cast<double>(slow.of(Metric::kLatency).max);
    const LayerHistory::Layer& layer = history.layers()[slow.layer];
    rows.push_back({{layer.short_name(), layer.name},
                    MetricCell(slow.of(Metric::kLatency), Metric::kLatency),
                    SecondsCell(worst),
                    MetricCell(slow.of(Metric::kPayload), Metric::kPayload),
                    MetricCell(slow.of(Metric::kDensity), Metric::kDensity)});
  }
  layers_.Show(std::move(rows));
  SelectRow();
}

void OverviewLists::ShowDecisions(const Look& look) {
  QStringList sentences;
  std::vector<Cells> rows;
  for (const Side& side : look.sides()) {
    std::set<std::pair<QString, std::int64_t>> now;
    for (const GroupPlan* plan : PlansAt(side.run, side.at)) {
      now.emplace(plan->group, plan->from_step);
      const QString sentence = plan->Sentence().toHtmlEscaped();
      sentences += side.label.isEmpty() ? sentence : side.label + ": " + sentence;
    }
    const auto changes = PlanChangesOf(side.run);
    for (const PlanChange& change : changes | std::views::reverse) {
      const QString what = side.label.isEmpty() ? change.what : side.label + ": " + change.what;
      const bool holds = now.contains({change.group, change.step});
      rows.push_back({NumberCell(change.step), what, holds ? tr("now") : QString()});
    }
  }
  sentences.removeDuplicates();
  plans_->setText(sentences.isEmpty() ? tr("Nothing is known of plans.") : sentences.join("<br>"));
  changes_.Show(std::move(rows));
}

void OverviewLists::ShowRanks(const Look& look) {
  std::vector<Cells> rows;
  for (const Side& side : look.sides()) {
    for (const auto& [rank, known] : side.run.ranks()) {
      const auto steps = known.StepsUntil(side.at.step, Summary::kSteps);
      if (steps.empty()) continue;
      const MeanTimes times = MeanTimesOf(steps);
      rows.push_back({side.label, NumberCell(rank), known.host(), SecondsCell(times.own()),
                      SecondsCell(times.communication), SecondsCell(times.compression)});
    }
  }
  ranks_view_->setColumnHidden(0, look.other == nullptr);
  ranks_.Show(std::move(rows));
}

void OverviewLists::Select(const QString& layer) {
  selected_ = layer;
  SelectRow();
}

void OverviewLists::SelectRow() {
  const QAbstractItemModel& shown = *layers_view_->model();
  for (int row = 0; row < shown.rowCount(); ++row) {
    if (shown.index(row, 0).data(kValueRole).toString() == selected_)
      return layers_view_->selectRow(row);
  }
  layers_view_->clearSelection();
}

}  // namespace weir::monitor
