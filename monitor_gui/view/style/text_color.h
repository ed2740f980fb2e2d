#pragma once

#include <QColor>
#include <QLabel>

namespace weir::monitor {

/// Colours a label's text anywhere: in a tool bar labels use another role's colour.
void SetTextColor(QLabel& label, const QColor& color);

}  // namespace weir::monitor
