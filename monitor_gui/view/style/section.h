#pragma once

#include <QLabel>

namespace weir::monitor {

/// Makes the title of a part of a page: one line, in the style of all such titles.
QLabel* SectionTitle(const QString& text, QWidget* parent);

}  // namespace weir::monitor
