#include "monitor_gui/view/style/empty_text.h"

#include <QEvent>

namespace weir::monitor {

EmptyText::EmptyText(QAbstractItemView& view, const QString& text)
    : QLabel(text, view.viewport()), view_(view) {
  setAlignment(Qt::AlignCenter);
  setWordWrap(true);
  setForegroundRole(QPalette::PlaceholderText);
  setAttribute(Qt::WA_TransparentForMouseEvents);
  view.viewport()->installEventFilter(this);
  const QAbstractItemModel* const model = view.model();
  connect(model, &QAbstractItemModel::modelReset, this, &EmptyText::Update);
  connect(model, &QAbstractItemModel::rowsInserted, this, &EmptyText::Update);
  connect(model, &QAbstractItemModel::rowsRemoved, this, &EmptyText::Update);
  Update();
}

void EmptyText::Update() { setVisible(view_.model()->rowCount() == 0); }

bool EmptyText::eventFilter(QObject* /*watched*/, QEvent* event) {
  if (event->type() == QEvent::Resize) resize(view_.viewport()->size());
  return false;
}

}  // namespace weir::monitor
