#include "benchmarks/dashboard/driver.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QScrollBar>
#include <QTableView>
#include <QWheelEvent>
#include <ctime>

namespace weir::bench {
namespace {

constexpr int kInARow = 8;  // Repetitions of a person's action before the next one.
constexpr int kScroll = 60;

/// CPU time of this thread.
double ThreadSeconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void Press(QWidget* widget, int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
  for (const auto type : {QEvent::KeyPress, QEvent::KeyRelease}) {
    QKeyEvent event(type, key, modifiers);
    QApplication::sendEvent(widget, &event);
  }
}

void Wheel(QWidget* widget, int angle) {
  const QPointF at = widget->rect().center();
  QWheelEvent event(at, widget->mapToGlobal(at), {}, {0, angle}, Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(widget, &event);
}

/// Scrolls down to the end, and on from the top.
void Scroll(QAbstractScrollArea* area) {
  QScrollBar* const bar = area->verticalScrollBar();
  bar->setValue(bar->value() == bar->maximum() ? 0 : bar->value() + kScroll);
}

void ChooseNext(QComboBox* box) {
  if (box->count() == 0) return;
  box->setCurrentIndex((box->currentIndex() + 1) % box->count());
  emit box->activated(box->currentIndex());  // As if a person had chosen it.
}

}  // namespace

FrameTime Driver::Frame(const std::function<void()>& act) {
  const double cpu = ThreadSeconds();
  QElapsedTimer time;
  time.start();
  act();
  window_.update();
  QApplication::processEvents();
  QApplication::sendPostedEvents();
  return {.wall = static_cast<double>(time.nsecsElapsed()) * 1e-9, .cpu = ThreadSeconds() - cpu};
}

Driver::Acts Driver::OnLanes(QWidget& page) {
  auto* const list = page.findChild<QListView*>();
  return {[list] { Wheel(list->viewport(), -120); },
          [list] { Press(list, Qt::Key_Left, Qt::ShiftModifier); },
          [list] { Scroll(list); },
          [list] { Press(list, Qt::Key_Right, Qt::ShiftModifier); },
          [list] { Wheel(list->viewport(), 120); },
          [list] { Press(list, Qt::Key_End); }};
}

Driver::Acts Driver::OnLayers(QWidget& page) {
  auto* const table = page.findChild<QTableView*>();
  auto* const filter = page.findChild<QLineEdit*>();
  auto* const metric = page.findChild<QComboBox*>();
  return {[table] { Scroll(table); },
          [table] {
            const int column = (table->horizontalHeader()->sortIndicatorSection() + 1) %
                               table->model()->columnCount();
            table->sortByColumn(column, Qt::DescendingOrder);
          },
          [filter] {
            const QString text = filter->text();
            filter->setText(text.size() < 4 ? text + QString("00.1").at(text.size()) : QString());
          },
          [metric] { ChooseNext(metric); }};
}

Driver::Acts Driver::OnOther(QWidget& page) {
  Acts acts = {[] {}};
  for (auto* const box : page.findChildren<QComboBox*>())
    acts.emplace_back([box] { ChooseNext(box); });
  for (auto* const view : page.findChildren<QAbstractItemView*>()) {
    if (view->isVisible()) acts.emplace_back([view] { Scroll(view); });
  }
  return acts;
}

Driver::Acts Driver::ActsOn(const QString& page) {
  QWidget& widget = *window_.findChild<QDockWidget*>(page)->widget();
  if (page == "lanes") return OnLanes(widget);
  if (page == "layers") return OnLayers(widget);
  return OnOther(widget);
}

std::map<QString, std::vector<FrameTime>> Driver::Drive(double seconds) {
  std::map<QString, std::vector<FrameTime>> frames;
  const QStringList pages = monitor::MainWindow::PageNames();
  for (const QString& page : pages) {
    auto& times = frames[page];
    QElapsedTimer time;
    time.start();
    times.push_back(Frame([&] { window_.ShowPage(page); }));
    const Acts acts = ActsOn(page);
    // If the first frame takes all the time there is one more.
    for (std::size_t number = 0; number == 0 || static_cast<double>(time.elapsed()) < seconds * 1e3;
         ++number)
      times.push_back(Frame(acts[number / kInARow % acts.size()]));
  }
  return frames;
}

}  // namespace weir::bench
