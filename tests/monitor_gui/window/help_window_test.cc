// A person's first view without a job: the demo, the help, and the window's notices.
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QToolBar>

#include "monitor_gui/run/plans.h"
#include "monitor_gui/view/pages/help_text.h"
#include "monitor_gui/view/pages/overview_page.h"
#include "monitor_gui/window/demo.h"
#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {

class HelpWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void TheDemoPlaysWithoutAJob();
  void TheDemoHasAWarmUpManyLayersAndAChangeOfItsPlan();
  void EveryPageIsExplainedWithAPicture();
  void AKeyShowsTheHelp_data();
  void AKeyShowsTheHelp();
  void AWindowWithoutARunSaysWhatToDo();
  void AFileThatCannotBeReadIsSaid();
};

namespace {

bool Says(MainWindow& window, const QString& text) {
  for (const QLabel* label : window.findChildren<QLabel*>())
    if (label->isVisible() && label->text().contains(text)) return true;
  return false;
}

/// Pages behind other tabs are only moved away.
bool IsSeen(const QWidget& widget) {
  const QPoint at = widget.mapTo(widget.window(), QPoint());
  return widget.isVisible() && widget.window()->rect().intersects(QRect(at, widget.size()));
}

void Expose(MainWindow& window) {
  window.show();
  QVERIFY(QTest::qWaitForWindowExposed(&window));
}

}  // namespace

void HelpWindowTest::init() { PrepareWindows("help-window-test"); }

void HelpWindowTest::TheDemoPlaysWithoutAJob() {
  MainWindow window(kDemoPlace, {});
  Expose(window);
  const Replay& replay = window.replay().replay();
  QTRY_VERIFY(replay.playing());
  const std::int64_t first = replay.step();
  QTRY_VERIFY(replay.step() > first);
}

void HelpWindowTest::TheDemoHasAWarmUpManyLayersAndAChangeOfItsPlan() {
  const Run run = ReadDemo();
  QCOMPARE(run.ranks().size(), 4u);
  for (const auto& [rank, known] : run.ranks()) {
    QVERIFY(known.steps().size() >= 60);
    QVERIFY(known.steps().front().target_density > 0.1f);
    QCOMPARE(known.steps().back().target_density, 0.01f);
    QVERIFY(!known.stages().empty());
    QVERIFY(!known.states().empty());
  }
  QVERIFY(run.layers().layers().size() >= 60);
  QStringList plans;
  for (const PlanChange& change : PlanChangesOf(run)) {
    if (change.is_form) plans += change.what;
  }
  QVERIFY2(plans.size() >= 3, qPrintable(plans.join("; ")));
  const auto now = PlansAt(run, {});
  QCOMPARE(now.size(), 1u);
  QVERIFY(now[0]->settled && now[0]->network_bytes_per_second.has_value());
}

void HelpWindowTest::EveryPageIsExplainedWithAPicture() {
  MainWindow window({}, {});
  window.resize(1000, 700);
  Expose(window);
  window.ShowPage("help");
  window.Refresh();
  const auto* const document = window.findChild<QTextBrowser*>()->document();
  QStringList explained;
  for (const HelpTopic& topic : HelpTopics()) {
    explained += topic.name;
    QTRY_VERIFY(document->toPlainText().contains(topic.title));
    const auto picture = [&] {
      return document->resource(QTextDocument::ImageResource, QUrl("picture:" + topic.name))
          .value<QImage>();
    };
    QTRY_VERIFY(!picture().isNull());
    QSet<QRgb> colors;
    const QImage image = picture();
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) colors.insert(image.pixel(x, y));
    QVERIFY(colors.size() > 8);
  }
  QStringList pages = MainWindow::PageNames();
  pages.removeAll("help");
  QCOMPARE(explained, pages);
}

void HelpWindowTest::AKeyShowsTheHelp_data() {
  QTest::addColumn<int>("key");
  QTest::newRow("F1") << static_cast<int>(Qt::Key_F1);
  QTest::newRow("?") << static_cast<int>(Qt::Key_Question);
}

void HelpWindowTest::AKeyShowsTheHelp() {
  QFETCH(int, key);
  MainWindow window({}, {});
  Expose(window);
  window.activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(&window));  // Otherwise it has no shortcuts.
  QTRY_VERIFY(IsSeen(*window.findChild<OverviewPage*>()));
  QVERIFY(!IsSeen(*window.findChild<QTextBrowser*>()));
  QTest::keyClick(&window, static_cast<Qt::Key>(key));
  QTRY_VERIFY(IsSeen(*window.findChild<QTextBrowser*>()));
  QVERIFY(!IsSeen(*window.findChild<OverviewPage*>()));
}

void HelpWindowTest::AWindowWithoutARunSaysWhatToDo() {
  MainWindow window({}, {});
  Expose(window);
  QVERIFY(Says(window, "Ctrl+O opens a run log"));
  QVERIFY(Says(window, "No rank is known yet."));
}

void HelpWindowTest::AFileThatCannotBeReadIsSaid() {
  const QTemporaryDir folder;
  const QString path = folder.filePath("text.weirlog");
  WriteFile(path, "this is no run log, but a text of some length\n");
  MainWindow window(path, {});
  Expose(window);
  const auto* const notice = window.findChild<QToolBar*>("notice");
  QTRY_VERIFY(notice->findChild<QLabel*>()->text().startsWith("cannot read " + path));
  QVERIFY(notice->isVisible());
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::HelpWindowTest)
#include <help_window_test.moc>
