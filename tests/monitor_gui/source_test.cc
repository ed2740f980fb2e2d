// How the dashboard finds and follows ranks, against endpoints of the test's own, and reads files.
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "monitor_gui/window/session.h"
#include "tests/monitor_gui/fake_endpoint.h"
#include "tests/monitor_gui/made_blocks.h"

namespace weir::monitor {
namespace {

MadeBlock RunOf(int rank) {
  MadeBlock block("run", rank);
  return block.Text(QString("{\"rank\": %1, \"size\": 2, \"host\": \"h\"}").arg(rank).toUtf8());
}

MadeBlock StepOf(int rank, qint64 step) {
  MadeBlock block("steps", rank);
  return block.Column<qint64>("step", "<i8", {step});
}

QByteArray TargetsOf(const QList<const FakeEndpoint*>& endpoints) {
  QByteArray json = "[";
  for (qsizetype rank = 0; rank < endpoints.size(); ++rank) {
    json += (rank == 0 ? "" : ",") +
            QString("{\"targets\": [\"%1\"], \"labels\": {\"rank\": \"%2\", \"host\": \"h\"}}")
                .arg(endpoints[rank]->address())
                .arg(rank)
                .toUtf8();
  }
  return json + "]";
}

/// Of a job of one rank that has finished its first step.
void MakeRankZero(FakeEndpoint& endpoint) {
  endpoint.SetTargets(TargetsOf({&endpoint}));
  endpoint.Add(RunOf(0));
  endpoint.Add(StepOf(0, 0));
}

std::size_t Steps(Session& session, int rank) {
  return session.run().Read([rank](const Run& run) {
    const auto found = run.ranks().find(rank);
    return found == run.ranks().end() ? std::size_t{0} : found->second.steps().size();
  });
}

RankLink::State StateOf(Session& session, int rank) {
  return session.run().Read([rank](const Run& run) {
    const auto found = run.links().find(rank);
    return found == run.links().end() ? RankLink::State::kConnecting : found->second.state;
  });
}

void Write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  QCOMPARE(file.write(bytes), bytes.size());
}

/// Reads a recording to its end.
void ReadWhole(Session& session) {
  QSignalSpy finished(&session, &Session::Finished);
  session.Start();
  QTRY_COMPARE(finished.size(), 1);
}

}  // namespace

class SourceTest : public QObject {
  Q_OBJECT

 private slots:
  void FollowsAllRanksThatRankZeroNames();
  void FollowsOneRankThatKnowsNoOthers();
  void ALostRankIsShownAndFollowedAgain();
  void AnEndpointThatComesLaterIsFound();
  void TheTokenIsShown();
  void ARecordingHasWhoRunsWhatIsStalledAndWhatComes();
  void ARecordingThatCannotBeWrittenIsSaid();
  void ARecordingThatDoesNotFitEndsAndSaysSo();
  void FilesOfAllRanksAreRead();
  void AFileThatIsNoneIsRefused();
  void OfAFileOfTwoRunsTheNewestIsRead();
  void AllGradientsAreReadOnce();
  void OfTheStagesTheNewestAreRead();
};

void SourceTest::FollowsAllRanksThatRankZeroNames() {
  FakeEndpoint zero;
  FakeEndpoint one;
  zero.SetTargets(TargetsOf({&zero, &one}));
  zero.Add(RunOf(0));
  one.Add(RunOf(1));
  one.Add(StepOf(1, 0));
  Session session(zero.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 1), 1u);
  zero.Add(StepOf(0, 0));
  one.Add(StepOf(1, 1));
  QTRY_COMPARE(Steps(session, 0), 1u);
  QTRY_COMPARE(Steps(session, 1), 2u);  // Nothing twice.
  QCOMPARE(StateOf(session, 1), RankLink::State::kLive);
}

void SourceTest::FollowsOneRankThatKnowsNoOthers() {
  FakeEndpoint one;
  one.Add(RunOf(1));
  one.Add(StepOf(1, 0));
  Session session(one.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 1), 1u);
}

void SourceTest::ALostRankIsShownAndFollowedAgain() {
  FakeEndpoint zero;
  MakeRankZero(zero);
  Session session(zero.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 0), 1u);
  zero.Close();
  QTRY_COMPARE(StateOf(session, 0), RankLink::State::kLost);
  QCOMPARE(Steps(session, 0), 1u);
  zero.Listen();
  zero.Add(StepOf(0, 1));
  QTRY_COMPARE(StateOf(session, 0), RankLink::State::kLive);
  QTRY_COMPARE(Steps(session, 0), 2u);
}

void SourceTest::AnEndpointThatComesLaterIsFound() {
  FakeEndpoint zero;
  MakeRankZero(zero);
  zero.Close();
  Session session(zero.url(), {});
  QSignalSpy said(&session, &Session::Said);
  session.Start();
  QTRY_VERIFY(!said.isEmpty() && said.last()[0].toString().contains("does not answer"));
  zero.Listen();
  QTRY_COMPARE(Steps(session, 0), 1u);
}

void SourceTest::TheTokenIsShown() {
  FakeEndpoint zero;
  zero.SetToken("secret");
  MakeRankZero(zero);
  Session without(zero.url(), {});
  QSignalSpy said(&without, &Session::Said);
  without.Start();
  QTRY_VERIFY(!said.isEmpty() && said.last()[0].toString().contains("WEIR_METRICS_TOKEN"));
  Session with(zero.url(), "secret");
  with.Start();
  QTRY_COMPARE(Steps(with, 0), 1u);
}

void SourceTest::ARecordingHasWhoRunsWhatIsStalledAndWhatComes() {
  const QTemporaryDir folder;
  const QString path = folder.filePath("copy.weirlog");
  FakeEndpoint zero;
  MakeRankZero(zero);
  zero.Add(MadeBlock("stalls", 0).Text(R"({"tensors": [{"name": "loss", "missing_ranks": [1]}]})"));
  {
    Session session(zero.url(), {});
    session.Start();
    QTRY_COMPARE(Steps(session, 0), 1u);
    QTRY_COMPARE(
        session.run().Read([](const Run& run) { return run.ranks().at(0).stalls().size(); }), 1u);
    QSignalSpy ended(&session, &Session::RecordingEnded);
    session.Record(path);
    zero.Add(StepOf(0, 1));
    QTRY_COMPARE(Steps(session, 0), 2u);
    session.StopRecording();
    QTRY_COMPARE(ended.size(), 1);
    QVERIFY(ended[0][0].toString().isEmpty());
  }
  Session replay(path, {});
  ReadWhole(replay);
  QCOMPARE(Steps(replay, 0), 1u);
  replay.run().Read([](const Run& run) {
    QCOMPARE(run.ranks().at(0).steps()[0].step, 1);
    QCOMPARE(run.ranks().at(0).host(), "h");
    QCOMPARE(StallsAt(run, run.newest_ns()).tensors.size(), 1u);
  });
}

void SourceTest::ARecordingThatCannotBeWrittenIsSaid() {
  FakeEndpoint zero;
  zero.SetTargets(TargetsOf({&zero}));
  zero.Add(RunOf(0));
  Session session(zero.url(), {});
  QSignalSpy ended(&session, &Session::RecordingEnded);
  session.Start();
  session.Record("/no/such/folder/run.weirlog");
  QTRY_COMPARE(ended.size(), 1);
  QVERIFY(ended[0][0].toString().contains("/no/such/folder/run.weirlog"));
}

void SourceTest::ARecordingThatDoesNotFitEndsAndSaysSo() {
  FakeEndpoint zero;
  MakeRankZero(zero);
  Session session(zero.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 0), 1u);
  QSignalSpy ended(&session, &Session::RecordingEnded);
  session.Record("/dev/full");
  QTRY_COMPARE(ended.size(), 1);
  QVERIFY2(ended[0][0].toString().contains("cannot write /dev/full: No space left"),
           qPrintable(ended[0][0].toString()));
}

void SourceTest::FilesOfAllRanksAreRead() {
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

void SourceTest::AFileThatIsNoneIsRefused() {
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

void SourceTest::OfAFileOfTwoRunsTheNewestIsRead() {
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

void SourceTest::AllGradientsAreReadOnce() {
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

void SourceTest::OfTheStagesTheNewestAreRead() {
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

QTEST_GUILESS_MAIN(weir::monitor::SourceTest)
#include <source_test.moc>
