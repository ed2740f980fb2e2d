// The window's exports of its content.
#include <QFile>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <stdexcept>

#include "tests/monitor_gui/window/made_run.h"

namespace weir::monitor {

class ExportWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void EveryPageHasATable_data();
  void EveryPageHasATable();
  void ATableIsThatOfTheStepThatIsShown();
  void HiddenColumnsAreLeftOut();
  void APictureIsThatOfTheWindow();
  void ATraceHasAllRanks();
  void AFileThatCannotBeWrittenIsSaid();

 private:
  QStringList Exported(MainWindow& window);

  QTemporaryDir folder_;
  QString path_;
};

void ExportWindowTest::initTestCase() {
  PrepareWindows("export-window-test");
  path_ = folder_.filePath("run.weirlog");
  WriteFile(path_, MadeRun());
}

/// The lines of the current page's table.
QStringList ExportWindowTest::Exported(MainWindow& window) {
  const QString path = folder_.filePath("table.csv");
  window.ExportTo(path);
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {};
  return QString::fromUtf8(file.readAll()).split("\r\n", Qt::SkipEmptyParts);
}

void ExportWindowTest::EveryPageHasATable_data() {
  QTest::addColumn<QString>("page");
  QTest::addColumn<QString>("header");
  QTest::addColumn<QString>("row");
  QTest::newRow("overview") << "overview"
                            << "step,\"A step, own work [s]\",\"A step, exposed compression [s]\""
                            << "39,0.08,0,0.02,";
  QTest::newRow("lanes")
      << "lanes"
      << "Rank,Lane,Stage,Bucket,Step,Operations,Start [s],Time [s],Bytes [B],Well"
      << "rank 0,backprop,,,39,1,3.9,0.08,,true";
  QTest::newRow("layers")
      << "layers"
      << "Layer,Entries,Compressor,Latency [s],Worst rank [s],Payload [B],Density [ratio],Residual "
         "[ratio]"
      << "fc.weight,5000,dgc,0.01499999966,0.01499999966,2700,0.02999999933,2";
  QTest::newRow("bandwidth") << "bandwidth"
                             << "time [s],\"Network, sent [MB/s]\",\"Network, received [MB/s]\""
                             << ",,,,,,39,0.001,0.1";
  QTest::newRow("decisions")
      << "decisions"
      << "Bucket,Travels as,Route,Why,Payload [B],Wire ratio [ratio],Compress [s],Exchange [s]"
      << "conv1.weight,dgc,gather,options,64,1,0.008,0.008";
  QTest::newRow("ranks") << "ranks"
                         << "Rank,Host,State,Heard [s],Step,Step time [s],Own work [s]"
                         << "1,node-1,ended,,39,0.1,0.08,0.02,0,";
}

void ExportWindowTest::EveryPageHasATable() {
  QFETCH(QString, page);
  QFETCH(QString, header);
  QFETCH(QString, row);
  MainWindow window(path_, {});
  window.ShowPage(page);
  ShowLoaded(window);
  const QStringList lines = Exported(window);
  QVERIFY(!lines.isEmpty());
  QVERIFY2(lines.front().startsWith(header), qPrintable(lines.front()));
  const bool has = std::ranges::any_of(lines, [&](const QString& l) { return l.startsWith(row); });
  QVERIFY2(has, qPrintable(lines.join("\n")));
}

void ExportWindowTest::ATableIsThatOfTheStepThatIsShown() {
  MainWindow window(path_, {});
  window.ShowPage("ranks");
  ShowLoaded(window);
  window.replay().GoTo(5);
  QVERIFY(Exported(window).at(1).startsWith("0,node-0,recorded,,5,"));
}

void ExportWindowTest::HiddenColumnsAreLeftOut() {
  MainWindow alone(path_, {});
  alone.ShowPage("ranks");
  ShowLoaded(alone);
  QVERIFY(Exported(alone).front().startsWith("Rank,"));
  MainWindow both(path_, {}, path_);
  both.ShowPage("ranks");
  ShowLoaded(both);
  QVERIFY(Exported(both).front().startsWith("Run,Rank,"));
}

void ExportWindowTest::APictureIsThatOfTheWindow() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  window.ExportTo(folder_.filePath("window.png"));
  QCOMPARE(QImage(folder_.filePath("window.png")).size(), window.size());
}

void ExportWindowTest::ATraceHasAllRanks() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  window.ExportTo(folder_.filePath("trace.json"));
  QFile file(folder_.filePath("trace.json"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QJsonArray events = QJsonDocument::fromJson(file.readAll()).array();
  std::array<int, 2> of_ranks{};
  for (const auto& event : events)
    if (event.toObject()["ph"] == "X")
      ++of_ranks.at(static_cast<std::size_t>(event.toObject()["pid"].toInt()));
  QCOMPARE(of_ranks[0], 40 + 3 * 40);
  QCOMPARE(of_ranks[1], of_ranks[0]);
}

void ExportWindowTest::AFileThatCannotBeWrittenIsSaid() {
  MainWindow window(path_, {});
  ShowLoaded(window);
  for (const char* name : {"no/such/a.png", "no/such/a.csv", "no/such/a.json"}) {
    const QString path = folder_.filePath(name);
    try {
      window.ExportTo(path);
      QFAIL("it was written");
    } catch (const std::runtime_error& why) {
      QVERIFY(QString::fromUtf8(why.what()).contains(path));
    }
  }
}

}  // namespace weir::monitor

QTEST_MAIN(weir::monitor::ExportWindowTest)
#include <export_window_test.moc>
