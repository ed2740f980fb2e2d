#include "monitor_gui/view/pages/decisions_page.h"

#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "monitor_gui/run/bucket_figures.h"
#include "monitor_gui/run/plans.h"
#include "monitor_gui/run/summary.h"
#include "monitor_gui/view/style/section.h"
#include "monitor_gui/view/style/table_style.h"
#include "monitor_gui/view/tables/roles.h"
#include "monitor_gui/view/tables/view_table.h"

namespace weir::monitor {
namespace {

// Columns.
constexpr int kRun = 0;
constexpr int kFirstWork = 9;
constexpr int kGroup = 1;
constexpr int kChangeStep = 2;

const std::vector<ColumnHead>& BucketHeads() {
  static const std::vector<ColumnHead> kHeads{
      {QObject::tr("Run"), QObject::tr("A, or B that it is compared with.")},
      {QObject::tr("Bucket"), QObject::tr("Gradients that are negotiated and exchanged as one.")},
      {QObject::tr("Travels as"),
       QObject::tr("Its form: what its compressor makes, or all of it, dense or as fp16.")},
      {QObject::tr("Route"), QObject::tr("How its newest exchange went.")},
      {QObject::tr("Why"), QObject::tr("Who decided the form.")},
      {QObject::tr("Payload"),
       QObject::tr(
           "Bytes that rank 0 puts into its exchanges in a step, mean of the newest steps in this "
           "form, of 50 at most."),
       true, "B"},
      {QObject::tr("Wire ratio"), QObject::tr("Dense bytes over payload, of the same steps."), true,
       "ratio"},
      {QObject::tr("Compress"), QObject::tr("Time of compression in a step, mean of these."), true,
       "s"},
      {QObject::tr("Exchange"),
       QObject::tr("Time of its exchanges in a step, measured, mean of these."), true, "s"},
      {QObject::tr("Work dense"),
       QObject::tr("What encoding and decoding took in a step while it travelled dense, as the "
                   "planner saw it."),
       true, "s"},
      {QObject::tr("Work fp16"), QObject::tr("The same as fp16."), true, "s"},
      {QObject::tr("Work compressed"), QObject::tr("The same by its compressor."), true, "s"}};
  return kHeads;
}

const std::vector<ColumnHead>& ConsideredHeads() {
  static const std::vector<ColumnHead> kHeads{
      {QObject::tr("Run"), QObject::tr("A, or B that it is compared with.")},
      {QObject::tr("Gradients"), QObject::tr("Those of an optimizer, which are planned together.")},
      {QObject::tr("Plan"), QObject::tr("The forms of its buckets.")},
      {QObject::tr("Bytes alone"),
       QObject::tr("How long its bytes keep the network busy, by the rate that was measured."),
       true, "s"},
      {QObject::tr("Predicted"),
       QObject::tr("Time of a step from what its parts take: when each bucket is ready, its work, "
                   "and its bytes on the network. Known once all buckets were seen in their forms; "
                   "what decides is the measured time."),
       true, "s"},
      {QObject::tr("Measured"),
       QObject::tr("Median of the steps that were taken so, from the first gradient to the last "
                   "result."),
       true, "s"},
      {QObject::tr("Steps"), QObject::tr("So many were measured."), true},
      {QObject::tr("Outcome"),
       QObject::tr("Of plans within 2 % of the fastest, the one that changes least of what is "
                   "trained is chosen.")}};
  return kHeads;
}

const std::vector<ColumnHead>& ChangeHeads() {
  static const std::vector<ColumnHead> kHeads{
      {QObject::tr("Run"), QObject::tr("A, or B that it is compared with.")},
      {QObject::tr("Gradients"), QObject::tr("Those of an optimizer, which are planned together.")},
      {QObject::tr("Step"), QObject::tr("From which it holds. A click shows that step."), true},
      {QObject::tr("What changed"), QObject::tr("A search tries plans, and keeps the fastest.")},
      {QObject::tr("Holds"), QObject::tr("At the step that is shown.")}};
  return kHeads;
}

Cell KnownSeconds(const std::optional<double>& seconds) {
  return seconds ? SecondsCell(*seconds) : UnknownCell();
}

/// The plan with the bucket; nullptr: nothing is known of one.
const GroupPlan* PlanOf(const std::vector<const GroupPlan*>& plans, const QString& bucket) {
  const auto found = std::ranges::find_if(
      plans, [&](const GroupPlan* plan) { return plan->Find(bucket) != nullptr; });
  return found == plans.end() ? nullptr : *found;
}

Cells BucketRow(const Side& side, const NameInfo& info, const BucketFigures& figures,
                const GroupPlan* plan) {
  const GroupPlan::Bucket* const planned = plan == nullptr ? nullptr : plan->Find(info.name);
  const auto work = [&](const QString& form) {
    return planned == nullptr ? UnknownCell() : KnownSeconds(planned->WorkIn(form));
  };
  const bool is_whole = info.compressor == "fp16" || info.compressor == "dense";
  // All buckets of a group have its name, which says nothing of them.
  const bool has_prefix = plan != nullptr && info.name.startsWith(plan->group + "/");
  const Cell name(has_prefix ? info.name.mid(plan->group.size() + 1) : info.name, info.name);
  return {side.label,
          name,
          planned == nullptr ? info.compressor : planned->form,
          figures.route < info.routes.size() ? info.routes[figures.route].second : QString("?"),
          planned == nullptr ? QObject::tr("options") : planned->Why(*plan),
          BytesCell(figures.payload),
          figures.payload > 0 ? TimesCell(figures.wire_ratio()) : UnknownCell(),
          SecondsCell(figures.compress_seconds),
          SecondsCell(figures.exchange_seconds),
          work("dense"),
          work("fp16"),
          is_whole ? UnknownCell() : work(info.compressor)};
}

void HideEmpty(QTableView& view, const std::vector<Cells>& rows, int from, int to) {
  for (int column = from; column < to; ++column) {
    view.setColumnHidden(column, std::ranges::none_of(rows, [column](const Cells& row) {
                           return row[static_cast<std::size_t>(column)].value.isValid();
                         }));
  }
}

bool AreOfOneGroup(const std::vector<Cells>& rows) {
  std::set<QString> groups;
  for (const Cells& row : rows) groups.insert(row[kGroup].text);
  return groups.size() < 2;
}

}  // namespace

DecisionsPage::DecisionsPage(QWidget* parent)
    : Page(parent),
      sentences_(new QLabel(this)),
      buckets_(BucketHeads(), this),
      considered_(ConsideredHeads(), this),
      changes_(ChangeHeads(), this),
      buckets_view_(buckets_.MakeView(1, tr("No bucket has been exchanged in a step yet."), this)),
      considered_view_(considered_.MakeView(2, tr("No search has ended yet."), this)),
      changes_view_(changes_.MakeView(3, tr("The plan has not changed yet."), this)),
      considered_title_(SectionTitle(tr("Plans considered"), this)),
      below_(new QWidget(this)) {
  sentences_->setWordWrap(true);
  sentences_->setTextFormat(Qt::PlainText);
  sentences_->setContentsMargins(12, 8, 12, 8);
  buckets_view_->setObjectName("buckets");
  buckets_view_->setTextElideMode(Qt::ElideMiddle);
  considered_view_->setObjectName("considered");
  changes_view_->setObjectName("changes");
  sentences_->setObjectName("sentences");
  auto* const considered = new QWidget(below_);
  auto* const changes = new QWidget(below_);
  for (const auto& [section, title, view] :
       {std::tuple(considered, considered_title_, considered_view_),
        std::tuple(changes, SectionTitle(tr("Changes of the plan"), this), changes_view_)}) {
    auto* const rows = new QVBoxLayout(section);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(title);
    rows->addWidget(view);
  }
  auto* const beside = new QHBoxLayout(below_);
  beside->setContentsMargins(0, 0, 0, 0);
  beside->setSpacing(1);
  beside->addWidget(considered, 3);
  beside->addWidget(changes, 2);
  auto* const splitter = new QSplitter(Qt::Vertical, this);
  splitter->addWidget(buckets_view_);
  splitter->addWidget(below_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  auto* const layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(sentences_);
  layout->addWidget(splitter, 1);
  connect(changes_view_, &QTableView::clicked, this, [this](const QModelIndex& index) {
    emit StepChosen(index.siblingAtColumn(kChangeStep).data(kValueRole).toLongLong());
  });
}

void DecisionsPage::Refresh(const Look& look) {
  QStringList sentences;
  bool is_planned = false;
  for (const Side& side : look.sides()) {
    const std::vector<const GroupPlan*> plans = PlansAt(side.run, side.at);
    for (const GroupPlan* plan : plans) {
      is_planned = is_planned || plan->by != GroupPlan::By::kOptions;
      QString sentence = plan->Sentence();
      if (plans.size() > 1) sentence.prepend(plan->group + ": ");
      if (!side.label.isEmpty()) sentence.prepend(side.label + ": ");
      sentences += sentence;
    }
  }
  sentences.removeDuplicates();
  sentences_->setText(sentences.join('\n'));
  sentences_->setVisible(!sentences.isEmpty());
  below_->setVisible(is_planned);
  ShowBuckets(look);
  if (!is_planned) return;
  ShowConsidered(look);
  ShowChanges(look);
}

void DecisionsPage::ShowBuckets(const Look& look) {
  std::vector<Cells> rows;
  for (const Side& side : look.sides()) {
    if (side.run.ranks().empty()) continue;
    const RankRun& rank = side.run.ranks().begin()->second;
    const std::vector<const GroupPlan*> plans = PlansAt(side.run, side.at);
    std::int64_t since = 0;  // Steps in other forms say nothing about these.
    for (const GroupPlan* plan : plans) since = std::max(since, plan->from_step);
    for (const auto& [number, figures] :
         BucketFiguresAt(rank, side.at.end_ns, static_cast<std::int64_t>(Summary::kSteps), since)) {
      const NameInfo& info = rank.NameOf(number);
      rows.push_back(BucketRow(side, info, figures, PlanOf(plans, info.name)));
    }
  }
  buckets_view_->setColumnHidden(kRun, look.other == nullptr);
  HideEmpty(*buckets_view_, rows, kFirstWork, buckets_.columnCount());
  buckets_.Show(std::move(rows));
  // What few buckets leave is there for the plans.
  buckets_view_->setMaximumHeight(below_->isHidden() ? QWIDGETSIZE_MAX
                                                     : ContentHeight(*buckets_view_));
}

void DecisionsPage::ShowConsidered(const Look& look) {
  std::vector<Cells> rows;
  QStringList ended;
  for (const Side& side : look.sides()) {
    for (const GroupPlan* plan : PlansAt(side.run, side.at)) {
      const GroupPlan* const search = LastSearch(side.run, *plan);
      if (search == nullptr) continue;
      ended += QString::number(search->from_step);
      for (const GroupPlan::Considered& one : search->considered) {
        rows.push_back({side.label, search->group, one.what, KnownSeconds(one.bytes_seconds),
                        KnownSeconds(one.predicted_seconds), KnownSeconds(one.measured_seconds),
                        NumberCell(one.steps), search->OutcomeOf(one)});
      }
    }
  }
  ended.removeDuplicates();
  considered_title_->setText(
      "<b>" +
      (ended.size() == 1 ? tr("Plans considered, in the search until step %1").arg(ended[0])
                         : tr("Plans considered")) +
      "</b>");
  considered_view_->setColumnHidden(kRun, look.other == nullptr);
  considered_view_->setColumnHidden(kGroup, AreOfOneGroup(rows));
  considered_.Show(std::move(rows));
}

void DecisionsPage::ShowChanges(const Look& look) {
  std::vector<Cells> rows;
  for (const Side& side : look.sides()) {
    std::set<std::pair<QString, std::int64_t>> now;
    for (const GroupPlan* plan : PlansAt(side.run, side.at))
      now.emplace(plan->group, plan->from_step);
    for (const PlanChange& change : PlanChangesOf(side.run)) {
      const bool holds = now.contains({change.group, change.step});
      rows.push_back({side.label, change.group, NumberCell(change.step), change.what,
                      holds ? tr("now") : QString()});
    }
  }
  changes_view_->setColumnHidden(kRun, look.other == nullptr);
  changes_view_->setColumnHidden(kGroup, AreOfOneGroup(rows));
  changes_.Show(std::move(rows));
}

Table DecisionsPage::Export(const Look& /*look*/) const { return TableOf(*buckets_view_); }

}  // namespace weir::monitor
