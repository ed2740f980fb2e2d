#pragma once

#include <QColor>
#include <QLabel>

namespace weir::monitor {

/// Colours a label's text, wherever it is: in a tool bar labels take another role's colour.
void SetTextColor(QLabel& label, const QColor& color);

}  // namespace weir::monitor
