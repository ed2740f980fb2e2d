// Finding and following ranks, against the test's own endpoints.
#include <QElapsedTimer>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/source/fake_endpoint.h"
#include "tests/monitor_gui/source/session_facts.h"

namespace weir::monitor {
namespace {

MadeBlock RunOf(int rank, const QString& job = {}) {
  MadeBlock block("run", rank);
  QJsonObject run{{"rank", rank}, {"size", 2}, {"host", "h"}};
  if (!job.isEmpty()) run["job"] = job;
  return block.Text(QJsonDocument(run).toJson());
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

/// Plays a job of one rank that has finished its first step.
void MakeRankZero(FakeEndpoint& endpoint) {
  endpoint.SetTargets(TargetsOf({&endpoint}));
  endpoint.Add(RunOf(0));
  endpoint.Add(StepOf(0, 0));
}

/// So many steps of a rank of a job that begins.
void Begin(FakeEndpoint& endpoint, const QString& job, int rank, qint64 steps) {
  endpoint.BeginJob(job);
  endpoint.Add(RunOf(rank, job));
  for (qint64 step = 0; step < steps; ++step) endpoint.Add(StepOf(rank, step));
}

std::vector<int> LinkedRanks(Session& session) {
  return session.run().Read([](const Run& run) {
    std::vector<int> ranks;
    for (const auto& [rank, link] : run.links()) ranks.push_back(rank);
    return ranks;
  });
}

}  // namespace

class SourceTest : public QObject {
  Q_OBJECT

 private slots:
  void FollowsAllRanksThatRankZeroNames();
  void FollowsOneRankThatKnowsNoOthers();
  void ALostRankIsShownAndFollowedAgain();
  void ARankThatHasEndedIsFollowedAgainWhenAJobBegins();
  void AnEndpointThatComesLaterIsFound();
  void TheNextJobAtAnAddressHasItsOwnRanks();
  void AJobThatIsMetLateIsNotMixedWithTheOneBefore();
  void AJobWithoutOthersTakesTheOthersLinksAway();
  void WhoComesLateOfTheJobBeforeCostsTheNewOneNothing();
  void WhoIsAnsweredWithoutNewsAsksAgainLater();
  void TheTokenIsShown();
  void ARecordingHasWhoRunsWhatIsStalledAndWhatComes();
  void ARecordingEndsWithItsJob();
  void ARecordingThatCannotBeWrittenIsSaid();
  void ARecordingThatDoesNotFitEndsAndSaysSo();
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

void SourceTest::ARankThatHasEndedIsFollowedAgainWhenAJobBegins() {
  FakeEndpoint zero;
  zero.SetTargets(TargetsOf({&zero}));
  Begin(zero, "a1", 0, 1);
  zero.Add(MadeBlock("end", 0).Text(R"({"time_ns": 9, "failure": ""})"));
  Session session(zero.url(), {});
  session.Start();
  const auto has_ended = [&] {
    return session.run().Read([](const Run& run) { return run.HasEnded(); });
  };
  QTRY_VERIFY(has_ended());
  zero.Close();
  QTRY_COMPARE(StateOf(session, 0), RankLink::State::kLost);
  Begin(zero, "b2", 0, 1);
  zero.Listen();
  QTRY_VERIFY(!has_ended());
  QTRY_COMPARE(StateOf(session, 0), RankLink::State::kLive);
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

void SourceTest::TheNextJobAtAnAddressHasItsOwnRanks() {
  FakeEndpoint zero;
  FakeEndpoint one;
  FakeEndpoint two;
  zero.SetTargets(TargetsOf({&zero, &one, &two}));
  Begin(zero, "a1", 0, 2);
  Begin(one, "a1", 1, 2);
  Begin(two, "a1", 2, 2);
  Session session(zero.url(), {});
  session.Start();
  for (const int rank : {0, 1, 2}) QTRY_COMPARE(Steps(session, rank), 2u);
  QCOMPARE(LinkedRanks(session), (std::vector{0, 1, 2}));

  two.HoldAnswers();  // To what it is asked just now; nobody waits for them any more.
  zero.SetTargets(TargetsOf({&zero, &one}));
  Begin(zero, "b2", 0, 1);
  Begin(one, "b2", 1, 1);
  QTRY_COMPARE(LinkedRanks(session), (std::vector{0, 1}));
  for (const int rank : {0, 1}) QTRY_COMPARE(Steps(session, rank), 1u);
  QCOMPARE(Steps(session, 2), 0u);
  two.HoldAnswers(false);
  const int asked_two = two.logs_asked();

  FakeEndpoint new_two;
  zero.SetTargets(TargetsOf({&zero, &one, &new_two}));
  Begin(zero, "c3", 0, 3);
  Begin(one, "c3", 1, 3);
  Begin(new_two, "c3", 2, 3);
  for (const int rank : {0, 1, 2}) QTRY_COMPARE(Steps(session, rank), 3u);
  QCOMPARE(LinkedRanks(session), (std::vector{0, 1, 2}));
  QCOMPARE(two.logs_asked(), asked_two);
}

void SourceTest::AJobThatIsMetLateIsNotMixedWithTheOneBefore() {
  FakeEndpoint zero;
  zero.SetTargets(TargetsOf({&zero}));
  Begin(zero, "a1", 0, 3);
  Session session(zero.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 0), 3u);
  // It has said more by now than the one before had when it was asked last.
  Begin(zero, "b2", 0, 10);
  QTRY_COMPARE(Steps(session, 0), 10u);
  QCOMPARE(session.run().Read([](const Run& run) { return run.ranks().at(0).job(); }), "b2");
}

void SourceTest::AJobWithoutOthersTakesTheOthersLinksAway() {
  FakeEndpoint zero;
  FakeEndpoint one;
  zero.SetTargets(TargetsOf({&zero, &one}));
  Begin(zero, "a1", 0, 1);
  Begin(one, "a1", 1, 1);
  Session session(zero.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 1), 1u);
  zero.SetTargets({});  // It was not started by weirrun.
  Begin(zero, "b2", 0, 2);
  QTRY_COMPARE(LinkedRanks(session), (std::vector{0}));
  QTRY_COMPARE(Steps(session, 0), 2u);
}

void SourceTest::WhoComesLateOfTheJobBeforeCostsTheNewOneNothing() {
  FakeEndpoint zero;
  FakeEndpoint one;
  zero.SetTargets(TargetsOf({&zero, &one}));
  Begin(zero, "b2", 0, 2);
  Begin(one, "a1", 1, 3);  // Still.
  Session session(zero.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 1), 3u);
  Begin(one, "b2", 1, 1);
  QTRY_COMPARE(Steps(session, 1), 1u);
  QTRY_COMPARE(Steps(session, 0), 2u);
}

void SourceTest::WhoIsAnsweredWithoutNewsAsksAgainLater() {
  FakeEndpoint zero;  // Answers at once, as a rank does for whom too many wait.
  MakeRankZero(zero);
  Session session(zero.url(), {});
  session.Start();
  QTRY_COMPARE(Steps(session, 0), 1u);
  QElapsedTimer time;
  time.start();
  const int asked = zero.logs_asked();
  QTRY_VERIFY(zero.logs_asked() >= asked + 4);
  QVERIFY2(time.elapsed() > 400, qPrintable(QString("4 times in %1 ms").arg(time.elapsed())));
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

void SourceTest::ARecordingEndsWithItsJob() {
  const QTemporaryDir folder;
  const QString path = folder.filePath("copy.weirlog");
  FakeEndpoint zero;
  zero.SetTargets(TargetsOf({&zero}));
  Begin(zero, "a1", 0, 2);
  {
    Session session(zero.url(), {});
    session.Start();
    QTRY_COMPARE(Steps(session, 0), 2u);
    QSignalSpy ended(&session, &Session::RecordingEnded);
    session.Record(path);
    zero.Add(StepOf(0, 2));
    QTRY_COMPARE(Steps(session, 0), 3u);
    Begin(zero, "b2", 0, 5);
    QTRY_COMPARE(ended.size(), 1);
    QVERIFY(ended[0][0].toString().contains(path + " is complete"));
  }
  Session replay(path, {});
  ReadWhole(replay);
  QCOMPARE(replay.run().Read([](const Run& run) { return run.ranks().at(0).job(); }), "a1");
  QCOMPARE(Steps(replay, 0), 1u);
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

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::SourceTest)
#include <source_test.moc>
