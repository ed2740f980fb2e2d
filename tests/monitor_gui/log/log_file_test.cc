// Logs on the disk: found by heads, and read on demand.
#include "monitor_gui/log/log_file.h"

#include <QTemporaryDir>
#include <QTest>

#include "tests/monitor_gui/made_blocks.h"

namespace weir::monitor {
namespace {

/// Reads all entries and returns their steps.
std::vector<std::int64_t> StepsOf(LogFile& file) {
  std::vector<std::int64_t> steps;
  for (const LogFile::Entry& entry : file.entries()) {
    file.Read(entry, [&](const Block& block) {
      for (const std::int64_t step : block.Column<std::int64_t>("step")) steps.push_back(step);
    });
  }
  return steps;
}

}  // namespace

class LogFileTest : public QObject {
  Q_OBJECT

 private slots:
  void EntriesSayWhatTheirHeadsDo();
  void DamageIsFoundWhenItIsReadAndCostsOnlyItsBlock();
  void ABlockBehindALostEndIsRead();
  void ACutFileGivesItsWholeBlocks();

 private:
  QString Written(const QByteArray& bytes) {
    const QString path = folder_.filePath(QString::number(++files_));
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
    return path;
  }
  const QTemporaryDir folder_;
  int files_ = 0;
};

void LogFileTest::EntriesSayWhatTheirHeadsDo() {
  const QByteArray first = RunBlock(3, 4);
  LogFile file(Written(first + StagesBlock(3, {{}, {}}) + StepsBlock(3, {{.step = 8}})));
  QCOMPARE(file.entries().size(), 3u);
  QCOMPARE(file.entries()[0].head.kind, "run");
  QCOMPARE(file.entries()[1].head.kind, "stages");
  QCOMPARE(file.entries()[1].head.rank, 3);
  QCOMPARE(file.entries()[1].head.rows, 2);
  QCOMPARE(file.entries()[1].offset, first.size());
  QCOMPARE(StepsOf(file), (std::vector<std::int64_t>{0, 0, 8}));
  QCOMPARE(file.damaged(), 0);
}

void LogFileTest::DamageIsFoundWhenItIsReadAndCostsOnlyItsBlock() {
  const QByteArray first = StepsBlock(0, {{.step = 1}});
  QByteArray damaged = StepsBlock(0, {{.step = 2}});
  damaged[damaged.size() - 1] = 1;
  LogFile file(Written(first + damaged + StepsBlock(0, {{.step = 3}})));
  QCOMPARE(file.entries().size(), 3u);
  QCOMPARE(file.damaged(), 0);
  QCOMPARE(StepsOf(file), (std::vector<std::int64_t>{1, 3}));
  QCOMPARE(file.damaged(), damaged.size());
}

void LogFileTest::ABlockBehindALostEndIsRead() {
  const QByteArray first = StepsBlock(0, {{.step = 1}});
  const QByteArray lost = first.chopped(16);  // Its head speaks of bytes that the next block has.
  LogFile file(Written(lost + StepsBlock(0, {{.step = 2}}) + StepsBlock(0, {{.step = 3}})));
  QCOMPARE(StepsOf(file), (std::vector<std::int64_t>{2, 3}));
  QCOMPARE(file.damaged(), lost.size());
}

void LogFileTest::ACutFileGivesItsWholeBlocks() {
  const QByteArray first = StepsBlock(0, {{.step = 1}});
  LogFile file(Written(first + first.chopped(8)));
  QCOMPARE(StepsOf(file), (std::vector<std::int64_t>{1}));
  QCOMPARE(file.damaged(), first.size() - 8);
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::LogFileTest)
#include <log_file_test.moc>
