#pragma once

#include <QLabel>

namespace weir::monitor {

/// Makes the title of a part of a page: one line, in the style of all such titles. `page`: name of
/// the page that shows more; its link emits QLabel::linkActivated.
QLabel* SectionTitle(const QString& text, QWidget* parent, const QString& page = {});

/// Returns a link to a page, as HTML: its target is the page's name.
QString PageLink(const QString& page, const QPalette& palette);

}  // namespace weir::monitor
