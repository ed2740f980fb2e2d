#include "monitor_gui/view/strip.h"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "monitor_gui/view/style/elided_label.h"
#include "monitor_gui/view/style/text_color.h"
#include "monitor_gui/view/style/theme.h"
#include "monitor_gui/view/style/units.h"

namespace weir::monitor {
namespace {

constexpr double kSmall = 0.9;  // Relative to the usual text.
constexpr double kShortestStepSeconds = 1e-9;

QLabel* Text(QWidget* parent, double scale, QFont::Weight weight) {
  auto* label = new QLabel(parent);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setWeight(weight);
  label->setFont(font);
  return label;
}

}  // namespace

Tile::Tile(const QString& name, const QString& explanation, QWidget* parent)
    : QFrame(parent),
      value_(Text(this, 1.6, QFont::DemiBold)),
      remark_(Text(this, kSmall, QFont::Normal)) {
  auto* label = Text(this, kSmall, QFont::Normal);
  label->setText(name);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 6, 12, 6);
  layout->setSpacing(0);
  layout->addWidget(label);
  layout->addWidget(value_);
  layout->addWidget(remark_);
  // Numbers of usual length do not move their neighbours.
  value_->setMinimumWidth(value_->fontMetrics().horizontalAdvance("000 ms"));
  setToolTip(explanation);
  setAccessibleName(name);
  for (QLabel* faint : {label, remark_}) faint->setForegroundRole(QPalette::PlaceholderText);
}

void Tile::Show(const QString& value, const QColor& color) {
  value_->setText(value);
  // Longer ones are not cut off, and keep their room.
  value_->setMinimumWidth(
      std::max(value_->minimumWidth(), value_->fontMetrics().horizontalAdvance(value)));
  SetTextColor(*value_, color.isValid() ? color : palette().color(QPalette::WindowText));
}

Strip::Strip(QWidget* parent)
    : QWidget(parent),
      step_(Add(tr("Step"), tr("The newest optimizer step that a rank has finished."))),
      step_time_(
          Add(tr("Step time"),
              tr("Seconds from the end of one step to the end of the next, mean of the newest "
                 "%1 steps of the slowest rank.")
                  .arg(Summary::kSteps))),
      samples_(
          Add(tr("Samples"),
              tr("Samples a second of all ranks together. How many a step takes a job says where "
                 "WEIR_BATCH_SIZE is set; View, \"Samples in a step\" or --samples-per-step say "
                 "otherwise."))),
      communication_(
          Add(tr("Exposed communication"),
              tr("Part of a step in which a rank only waited for the exchange: after its "
                 "last gradient, with nothing left to hide behind. Of the slowest rank: the others "
                 "wait for it as well."))),
      compression_(Add(tr("Exposed compression"),
                       tr("The same for packing, compressing and merging. A moment counts once."))),
      ratio_(
          Add(tr("Wire ratio"),
              tr("Bytes that the gradients would have been uncompressed, over those that ranks put "
                 "into their exchanges."))),
      sent_(Add(tr("Sent"), tr("Bytes a second that a rank hands to the network: the most of all "
                               "ranks."))),
      slowest_(
          Add(tr("Slowest rank"),
              tr("The rank whose own work in a step takes longest: the others wait for it. Below, "
                 "how much longer than the median rank's."))),
      health_(
          Add(tr("Health"),
              tr("What is wrong, if anything: ranks that failed, are lost or silent, no step for "
                 "long, stalled tensors, a slow rank, compression that takes long. The line "
                 "below says what. No end: the recording stops before the job said how it "
                 "ended, or the job was killed."))),
      troubles_(new ElidedLabel(this)) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(4, 4, 4, 8);
  rows->setSpacing(0);
  auto* layout = new QHBoxLayout;
  layout->setSpacing(4);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(12, 0, 12, 0);  // Aligned with the tiles' texts.
  line->addWidget(troubles_);
  rows->addLayout(layout);
  rows->addLayout(line);
  for (Tile* tile :
       {step_, step_time_, samples_, communication_, compression_, ratio_, sent_, slowest_})
    layout->addWidget(tile);
  layout->addWidget(health_);
  layout->addStretch(1);
  Show(Summary{});
}

Tile* Strip::Add(const QString& name, const QString& explanation) {
  return new Tile(name, explanation, this);
}

void Strip::Show(const Summary& summary, const Summary* other) {
  ShowNumbers(summary);
  if (other == nullptr) {
    ShowRemarks(summary);
  } else {
    ShowOther(summary, *other);
  }
  ShowHealth(summary, other);
}

void Strip::ShowNumbers(const Summary& summary) {
  if (summary.step < 0) {
    for (Tile* tile :
         {step_, step_time_, samples_, communication_, compression_, ratio_, sent_, slowest_})
      tile->Show("–");
    return;
  }
  step_->Show(QString::number(summary.step));
  step_time_->Show(Seconds(summary.step_seconds));
  samples_->Show(summary.samples_per_second ? PerSecond(*summary.samples_per_second) : "–");
  communication_->Show(Percent(summary.exposed_communication));
  compression_->Show(Percent(summary.exposed_compression));
  ratio_->Show(Times(summary.wire_ratio));
  sent_->Show(summary.sent_per_second ? BytesPerSecond(*summary.sent_per_second) : "–");
  slowest_->Show(summary.slowest_rank ? QString::number(*summary.slowest_rank) : "–");
}

void Strip::ShowRemarks(const Summary& summary) {
  if (summary.step < 0) {
    for (Tile* tile :
         {step_, step_time_, samples_, communication_, compression_, ratio_, sent_, slowest_})
      tile->Remark(" ");
    return;
  }
  step_->Remark(summary.ranks == 1 ? tr("1 rank") : tr("%1 ranks").arg(summary.ranks));
  step_time_->Remark(
      tr("%1 steps/s").arg(1.0 / std::max(summary.step_seconds, kShortestStepSeconds), 0, 'g', 3));
  samples_->Remark(summary.samples_per_second ? tr("all ranks") : tr("not told"));
  communication_->Remark(Seconds(summary.exposed_communication * summary.step_seconds));
  compression_->Remark(Seconds(summary.exposed_compression * summary.step_seconds));
  ratio_->Remark(tr("less than dense"));
  sent_->Remark(tr("per rank"));
  slowest_->Remark(summary.slowest_rank ? "+" + Percent(summary.slowest_excess) : " ");
}

void Strip::ShowOther(const Summary& summary, const Summary& other) {
  if (other.step < 0) {
    for (Tile* tile :
         {step_, step_time_, samples_, communication_, compression_, ratio_, sent_, slowest_})
      tile->Remark(tr("B –"));
    return;
  }
  const auto both = [](const QString& text, double ours, double others) {
    return ours > 0 ? tr("B %1, %2").arg(text, Times(others / ours)) : tr("B %1").arg(text);
  };
  step_->Remark(tr("B %1").arg(other.step));
  step_time_->Remark(both(Seconds(other.step_seconds), summary.step_seconds, other.step_seconds));
  samples_->Remark(summary.samples_per_second && other.samples_per_second
                       ? both(PerSecond(*other.samples_per_second), *summary.samples_per_second,
                              *other.samples_per_second)
                       : tr("not told"));
  communication_->Remark(both(Percent(other.exposed_communication), summary.exposed_communication,
                              other.exposed_communication));
  compression_->Remark(both(Percent(other.exposed_compression), summary.exposed_compression,
                            other.exposed_compression));
  ratio_->Remark(both(Times(other.wire_ratio), summary.wire_ratio, other.wire_ratio));
  sent_->Remark(other.sent_per_second
                    ? both(BytesPerSecond(*other.sent_per_second),
                           summary.sent_per_second.value_or(0), *other.sent_per_second)
                    : tr("B –"));
  slowest_->Remark(other.slowest_rank
                       ? tr("B %1, +%2").arg(*other.slowest_rank).arg(Percent(other.slowest_excess))
                       : tr("B –"));
}

void Strip::ShowHealth(const Summary& summary, const Summary* other) {
  const Theme theme = Theme::Of(palette());
  QStringList troubles = summary.troubles;
  if (other != nullptr) {
    for (QString& trouble : troubles) trouble.prepend(tr("A: "));
    for (const QString& trouble : other->troubles) troubles += tr("B: %1").arg(trouble);
  }
  health_->Remark(troubles.size() < 2 ? " " : tr("%1 things").arg(troubles.size()));
  // Always present, so that the pages do not jump.
  troubles_->setText(troubles.isEmpty() ? " " : troubles.join("; "));
  switch (other == nullptr ? summary.health : std::max(summary.health, other->health)) {
    case Summary::Health::kWaiting:
      return health_->Show(tr("No step yet"), theme.faint);
    case Summary::Health::kCutOff:
      return health_->Show(tr("No end"), theme.faint);
    case Summary::Health::kEnded:
      return health_->Show(tr("Ended well"), theme.good);
    case Summary::Health::kGood:
      return health_->Show(tr("Good"), theme.good);
    case Summary::Health::kWarning:
      return health_->Show(tr("Look"), theme.warning);
    case Summary::Health::kBad:
      return health_->Show(summary.step < 0 ? tr("Lost") : tr("Trouble"), theme.bad);
  }
}

}  // namespace weir::monitor
