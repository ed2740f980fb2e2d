#include "monitor_gui/view/strip.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "monitor_gui/view/theme.h"
#include "monitor_gui/view/units.h"

namespace weir::monitor {
namespace {

QLabel* Text(QWidget* parent, double scale, QFont::Weight weight) {
  auto* label = new QLabel(parent);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setWeight(weight);
  label->setFont(font);
  return label;
}

void Color(QLabel* label, const QColor& color) {
  QPalette palette = label->palette();
  palette.setColor(QPalette::WindowText, color);
  label->setPalette(palette);
}

}  // namespace

Tile::Tile(const QString& name, const QString& explanation, QWidget* parent)
    : QFrame(parent),
      value_(Text(this, 1.6, QFont::DemiBold)),
      remark_(Text(this, 0.9, QFont::Normal)) {
  auto* label = Text(this, 0.9, QFont::Normal);
  label->setText(name);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 6, 12, 6);
  layout->setSpacing(0);
  layout->addWidget(label);
  layout->addWidget(value_);
  layout->addWidget(remark_);
  setToolTip(explanation);
  setAccessibleName(name);
  for (QLabel* faint : {label, remark_}) faint->setForegroundRole(QPalette::PlaceholderText);
}

void Tile::Show(const QString& value, const QString& remark, const QColor& color) {
  value_->setText(value);
  remark_->setText(remark);
  Color(value_, color.isValid() ? color : palette().color(QPalette::WindowText));
}

Strip::Strip(QWidget* parent)
    : QWidget(parent),
      step_(Add(tr("Step"), tr("The newest optimizer step that a rank has finished."))),
      step_time_(
          Add(tr("Step time"),
              tr("Seconds from the end of one step to the end of the next, mean of the newest "
                 "%1 steps of the slowest rank.")
                  .arg(Summary::kSteps))),
      communication_(
          Add(tr("Exposed communication"),
              tr("Part of a step in which a rank only waited for the exchange: after its "
                 "last gradient, with nothing left to hide behind. Mean over ranks."))),
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
          Add(tr("Health"), tr("What is wrong, if anything: ranks that are lost or silent, stalled "
                               "tensors, a slow rank."))) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->setSpacing(4);
  for (Tile* tile : {step_, step_time_, communication_, compression_, ratio_, sent_, slowest_})
    layout->addWidget(tile);
  layout->addWidget(health_, 1);
  Show(Summary{});
}

Tile* Strip::Add(const QString& name, const QString& explanation) {
  return new Tile(name, explanation, this);
}

void Strip::Show(const Summary& summary) {
  const Theme theme = Theme::Of(palette());
  if (summary.step < 0) {
    for (Tile* tile : {step_, step_time_, communication_, compression_, ratio_, sent_, slowest_})
      tile->Show("–", " ");
    const bool bad = summary.health == Summary::Health::kBad;
    health_->Show(bad ? tr("Lost") : tr("No step yet"), summary.troubles.join("; "),
                  bad ? theme.bad : theme.faint);
    return;
  }
  step_->Show(QString::number(summary.step), tr("%n ranks", nullptr, summary.ranks));
  step_time_->Show(Seconds(summary.step_seconds),
                   tr("%1 steps/s").arg(1.0 / std::max(summary.step_seconds, 1e-9), 0, 'g', 3));
  communication_->Show(Percent(summary.exposed_communication),
                       Seconds(summary.exposed_communication * summary.step_seconds));
  compression_->Show(Percent(summary.exposed_compression),
                     Seconds(summary.exposed_compression * summary.step_seconds));
  ratio_->Show(Times(summary.wire_ratio), tr("of dense"));
  sent_->Show(BytesPerSecond(summary.sent_per_second), tr("per rank"));
  slowest_->Show(summary.slowest_rank ? QString::number(*summary.slowest_rank) : "–",
                 summary.slowest_rank ? "+" + Percent(summary.slowest_excess) : " ");
  switch (summary.health) {
    case Summary::Health::kWaiting:
    case Summary::Health::kGood:
      health_->Show(tr("Good"), " ", theme.good);
      break;
    case Summary::Health::kWarning:
      health_->Show(tr("Look"), summary.troubles.join("; "), theme.warning);
      break;
    case Summary::Health::kBad:
      health_->Show(tr("Trouble"), summary.troubles.join("; "), theme.bad);
      break;
  }
}

}  // namespace weir::monitor
