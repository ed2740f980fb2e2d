#pragma once

#include <QLabel>

namespace weir::monitor {

/// A line of text that takes the width that there is, and ends with an ellipsis where that is not
/// enough; then all of it is the tooltip.
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
