#include "monitor_gui/window/replay_keys.h"

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QLineEdit>
#include <QMenuBar>
#include <QTabBar>

namespace weir::monitor {
namespace {

/// True if the widget uses arrows and spaces itself.
bool KeepsItsKeys(const QWidget& widget) {
  return qobject_cast<const QLineEdit*>(&widget) != nullptr ||
         qobject_cast<const QComboBox*>(&widget) != nullptr ||
         qobject_cast<const QMenuBar*>(&widget) != nullptr ||
         qobject_cast<const QTabBar*>(&widget) != nullptr;
}

}  // namespace

ReplayKeys::ReplayKeys(QWidget& window) : QObject(&window), window_(window) {
  qApp->installEventFilter(this);
}

bool ReplayKeys::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return false;
  const auto* const receiver = qobject_cast<QWidget*>(watched);
  // A menu or a dialog is a window of its own.
  if (receiver == nullptr || receiver->window() != &window_ || KeepsItsKeys(*receiver))
    return false;
  const auto* const key = static_cast<QKeyEvent*>(event);
  if ((key->modifiers() & ~Qt::KeypadModifier) != Qt::NoModifier) return false;
  return Take(key->key(), *receiver);
}

bool ReplayKeys::Take(int key, const QWidget& receiver) {
  switch (key) {
    case Qt::Key_Left:
      emit Stepped(-1);
      return true;
    case Qt::Key_Right:
      emit Stepped(1);
      return true;
    case Qt::Key_Home:
      emit FirstWanted();
      return true;
    case Qt::Key_End:
      emit NewestWanted();
      return true;
    case Qt::Key_Space:
      if (qobject_cast<const QAbstractButton*>(&receiver) != nullptr) return false;
      emit PlayingToggled();
      return true;
    default:
      return false;
  }
}

}  // namespace weir::monitor
