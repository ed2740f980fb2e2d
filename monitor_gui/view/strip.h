#pragma once

#include <QFrame>
#include <QLabel>

#include "monitor_gui/run/summary.h"

namespace weir::monitor {

class ElidedLabel;

/// A number with its name above and a remark below.
class Tile final : public QFrame {
  Q_OBJECT
 public:
  /// `explanation`: the tooltip with the number's meaning and unit.
  Tile(const QString& name, const QString& explanation, QWidget* parent);
  void Show(const QString& value, const QColor& color = {});
  void Remark(const QString& remark) { remark_->setText(remark); }
  QString remark() const { return remark_->text(); }
  QString value() const { return value_->text(); }

 private:
  QLabel* const value_;
  QLabel* const remark_;
};

/// The row of numbers above all pages, and a line for troubles.
class Strip final : public QWidget {
  Q_OBJECT
 public:
  explicit Strip(QWidget* parent = nullptr);
  /// `other` is a run to compare with: remarks show its numbers, and
  /// their ratio to the first one's.
  void Show(const Summary& summary, const Summary* other = nullptr);

 private:
  void ShowNumbers(const Summary& summary);
  void ShowRemarks(const Summary& summary);
  void ShowOther(const Summary& summary, const Summary& other);
  void ShowHealth(const Summary& summary, const Summary* other);
  Tile* Add(const QString& name, const QString& explanation);

  Tile* const step_;
  Tile* const step_time_;
  Tile* const samples_;
  Tile* const communication_;
  Tile* const compression_;
  Tile* const ratio_;
  Tile* const sent_;
  Tile* const slowest_;
  Tile* const health_;
  ElidedLabel* const troubles_;
};

}  // namespace weir::monitor
