#pragma once

#include <QAbstractItemView>
#include <QLabel>

namespace weir::monitor {

/// A text in the middle of a view, for as long as there are no rows in it.
class EmptyText final : public QLabel {
  Q_OBJECT
 public:
  /// The view has its model, and owns this.
  EmptyText(QAbstractItemView& view, const QString& text);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void Update();

  QAbstractItemView& view_;
};

}  // namespace weir::monitor
