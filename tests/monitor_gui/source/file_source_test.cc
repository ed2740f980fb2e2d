// Reading recordings from files.
#include <QDateTime>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/source/session_facts.h"

namespace weir::monitor {
namespace {

void Write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  QCOMPARE(file.write(bytes), bytes.size());
}

}  // namespace

class FileSourceTest : public QObject {
  Q_OBJECT

 private slots:
  void FilesOfAllRanksAreRead();
  void FilesOfAnotherJobAreLeftOut();
  void AFileThatIsNoneIsRefused();
  void OfAFileOfTwoRunsTheNewestIsRead();
  void AllGradientsAreReadOnce();
  void OfTheStagesTheNewestAreRead();
};

void FileSourceTest::FilesOfAllRanksAreRead() {
  const QTemporaryDir folder;
  Write(folder.filePath("run.weirlog"), RunBlock(0, 2) + StepsBlock(0, {{.step = 0}}));
  Write(folder.filePath("run.rank1.weirlog"), RunBlock(1, 2) + StepsBlock(1, {{.step = 0}}));
  Write(folder.filePath("other.weirlog"), RunBlock(2, 2));
  for (const char* name : {"run.weirlog", "run.rank1.weirlog"}) {
    Session session(folder.filePath(name), {});
    ReadWhole(session);
    QCOMPARE(Steps(session, 0), 1u);
    QCOMPARE(Steps(session, 1), 1u);
    QCOMPARE(StateOf(session, 0), RankLink::State::kRecorded);
    QVERIFY(!session.run().Read([](const Run& run) { return run.ranks().contains(2); }));
  }
}

void FileSourceTest::FilesOfAnotherJobAreLeftOut() {
  const QTemporaryDir folder;
  const QString path = folder.filePath("run.weirlog");
  Write(path, RunBlock(0, 2, "b2") + StepsBlock(0, {{.step = 0}}));
  Write(folder.filePath("run.rank1.weirlog"), RunBlock(1, 2, "b2") + StepsBlock(1, {{.step = 0}}));
  Write(folder.filePath("run.rank2.weirlog"),
        RunBlock(2, 3, "a1") + StepsBlock(2, {{.step = 0}, {.step = 1}}));
  const auto ranks = [](Session& session) {
    return session.run().Read([](const Run& run) { return run.ranks().size(); });
  };
  Session session(path, {});
  QSignalSpy said(&session, &Session::Said);
  ReadWhole(session);
  QCOMPARE(ranks(session), 2u);
  QCOMPARE(Steps(session, 2), 0u);
  QVERIFY2(said.last()[0].toString().contains("a rank of another job is left out"),
           qPrintable(said.last()[0].toString()));
  Session of_nobody(folder.filePath("run.rank9.weirlog"), {});  // Only others are there.
  QVERIFY(QFile::remove(path));
  QFile newest(folder.filePath("run.rank2.weirlog"));
  QVERIFY(newest.open(QIODevice::ReadWrite));
  QVERIFY(newest.setFileTime(QDateTime::currentDateTime().addSecs(60),
                             QFileDevice::FileModificationTime));
  ReadWhole(of_nobody);
  QCOMPARE(ranks(of_nobody), 1u);  // In the newest job.
  QCOMPARE(Steps(of_nobody, 2), 2u);
  Session of_the_other(folder.filePath("run.rank2.weirlog"), {});
  ReadWhole(of_the_other);
  QCOMPARE(ranks(of_the_other), 1u);
  QCOMPARE(Steps(of_the_other, 2), 2u);
}

void FileSourceTest::AFileThatIsNoneIsRefused() {
  const QTemporaryDir folder;
  Write(folder.filePath("text"), "this is no run log, but a text of some length\n");
  Write(folder.filePath("empty"), "");
  for (const char* name : {"text", "empty", "missing"}) {
    Session session(folder.filePath(name), {});
    QSignalSpy failed(&session, &Session::Failed);
    session.Start();
    QTRY_COMPARE(failed.size(), 1);
    QVERIFY(failed[0][0].toString().contains(folder.filePath(name)));
  }
}

void FileSourceTest::OfAFileOfTwoRunsTheNewestIsRead() {
  const QTemporaryDir folder;
  const QString path = folder.filePath("run.weirlog");
  Write(path, RunBlock(0, 1) + NamesBlock(0, {"old"}, 1) + StepsBlock(0, {{.step = 0}}) +
                  GradientsBlock(0, {{.step = 0}}) + RunBlock(0, 1) + NamesBlock(0, {"new"}, 1) +
                  StepsBlock(0, {{.step = 0}}) + GradientsBlock(0, {{.step = 0}}));
  Session session(path, {});
  ReadWhole(session);
  QCOMPARE(Steps(session, 0), 1u);
  session.run().Read([](const Run& run) {
    QCOMPARE(run.layers().layers().size(), 1u);
    QCOMPARE(run.layers().layers()[0].name, "new");
  });
}

void FileSourceTest::AllGradientsAreReadOnce() {
  // So many blocks that they are not read in their order.
  constexpr int kBlocks = 150;
  const QTemporaryDir folder;
  QByteArray bytes =
      RunBlock(0, 2) + NamesBlock(0, {"conv"}, 1) + RunBlock(1, 2) + NamesBlock(1, {"conv"}, 1);
  for (qint64 step = 0; step < kBlocks; ++step)
    bytes += GradientsBlock(0, {{.step = step}}) + GradientsBlock(1, {{.step = step}});
  const QString path = folder.filePath("run.weirlog");
  Write(path, bytes);
  Session session(path, {});
  ReadWhole(session);
  session.run().Read([](const Run& run) {
    QCOMPARE(run.layers().columns(), kBlocks);
    for (int column = 0; column < kBlocks; ++column)
      QCOMPARE(run.layers().At(Metric::kDensity, 0, column).count, 2u);
  });
}

void FileSourceTest::OfTheStagesTheNewestAreRead() {
  const QTemporaryDir folder;
  constexpr int kABlock = 5'000;
  QByteArray bytes = RunBlock(0, 64);
  for (qint64 number = 0; number < 20; ++number) {
    const MadeStage stage{.start_us = number, .end_us = number + 1};
    bytes += StagesBlock(0, std::vector<MadeStage>(kABlock, stage));
  }
  const QString path = folder.filePath("run.weirlog");
  Write(path, bytes);
  Session session(path, {});
  ReadWhole(session);
  session.run().Read([](const Run& run) {
    const RankRun& rank = run.ranks().at(0);
    QCOMPARE(rank.stages().size(), rank.most_stages());
    QCOMPARE(rank.stages().back().end_ns, 20'000);
    QVERIFY(rank.stages().front().end_ns < rank.stages().back().end_ns);
  });
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::FileSourceTest)
#include <file_source_test.moc>
