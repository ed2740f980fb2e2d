#pragma once

#include <QAbstractItemView>
#include <QLabel>

namespace weir::monitor {

/// A text in the middle of a view, while the view has no rows.
class EmptyText final : public QLabel {
  Q_OBJECT
 public:
  /// The view has its model, and owns this label.
  EmptyText(QAbstractItemView& view, const QString& text);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void Update();

  QAbstractItemView& view_;
};

}  // namespace weir::monitor
