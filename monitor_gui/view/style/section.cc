#include "monitor_gui/view/style/section.h"

#include "monitor_gui/view/style/theme.h"

namespace weir::monitor {

QString PageLink(const QString& page, const QPalette& palette) {
  const QString title = page.left(1).toUpper() + page.mid(1);
  return QString("<a href=\"%1\" style=\"color:%2; text-decoration:none\">%3&nbsp;›</a>")
      .arg(page, Theme::Of(palette).accent.name(), title);
}

QLabel* SectionTitle(const QString& text, QWidget* parent, const QString& page) {
  auto* const title = new QLabel(parent);
  title->setTextFormat(Qt::RichText);
  QString html = "<b>" + text.toHtmlEscaped() + "</b>";
  if (!page.isEmpty()) html += " &nbsp; " + PageLink(page, parent->palette());
  title->setText(html);
  title->setContentsMargins(8, 6, 8, 4);
  title->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  return title;
}

}  // namespace weir::monitor
