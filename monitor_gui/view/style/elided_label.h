#pragma once

#include <QLabel>

namespace weir::monitor {

/// A line of text that takes the available width. If it does not fit, it ends with an ellipsis,
/// and the tooltip shows all of it.
class ElidedLabel final : public QLabel {
  Q_OBJECT
 public:
  using QLabel::QLabel;

  QSize minimumSizeHint() const override { return {0, QLabel::minimumSizeHint().height()}; }
  QSize sizeHint() const override { return minimumSizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace weir::monitor
