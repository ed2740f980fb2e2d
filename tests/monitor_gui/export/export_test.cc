// Exports: tables as CSV, runs as traces.
#include <QBuffer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>
#include <stdexcept>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/export/trace.h"
#include "tests/monitor_gui/made_blocks.h"
#include "tests/monitor_gui/run/run_of.h"

namespace weir::monitor {
namespace {

QByteArray TraceOf(const Run& run) {
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  WriteTrace(run, buffer);
  return buffer.data();
}

QList<QJsonObject> EventsOf(const Run& run) {
  QList<QJsonObject> events;
  const QJsonArray array = QJsonDocument::fromJson(TraceOf(run)).array();
  for (const auto& event : array) events += event.toObject();
  return events;
}

const QJsonObject EventNamed(const QList<QJsonObject>& events, const QString& name) {
  for (const QJsonObject& event : events)
    if (event["name"] == name) return event;
  return {};
}

class FullDevice final : public QIODevice {
 protected:
  qint64 readData(char*, qint64) override { return -1; }
  qint64 writeData(const char*, qint64) override { return -1; }
};

}  // namespace

class ExportTest : public QObject {
  Q_OBJECT

 private slots:
  void ATableIsALineForEachRow();
  void WhatIsNotKnownIsEmpty();
  void TextsWithCommasAreQuoted();
  void StagesHaveHorovodsNames();
  void ATraceBeginsAtZero();
  void TheTracksOfABucketAreNamed();
  void ARunThatIsEmptyIsAnEmptyTrace();
  void ADeviceThatRefusesIsSaid();
};

void ExportTest::ATableIsALineForEachRow() {
  const Table table{.header = {"Layer", WithUnit("Latency", "s")},
                    .rows = {{"conv", 0.0125}, {"fc", 1e-7}}};
  QCOMPARE(CsvOf(table), "Layer,Latency [s]\r\nconv,0.0125\r\nfc,1e-07\r\n");
}

void ExportTest::WhatIsNotKnownIsEmpty() {
  const Table table{.header = {"a", "b", "c"}, .rows = {{QVariant(), 7LL}, {1.5, QVariant(), 2}}};
  QCOMPARE(CsvOf(table), "a,b,c\r\n,7,\r\n1.5,,2\r\n");
}

void ExportTest::TextsWithCommasAreQuoted() {
  const Table table{.header = {"a,b"}, .rows = {{"say \"no\""}, {"two\nlines"}}};
  QCOMPARE(CsvOf(table), "\"a,b\"\r\n\"say \"\"no\"\"\"\r\n\"two\nlines\"\r\n");
}

void ExportTest::StagesHaveHorovodsNames() {
  const Run run = RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 100) +
                        StagesBlock(0, {{.start_us = 0, .end_us = 1, .stage = 0},
                                        {.start_us = 1, .end_us = 2, .stage = 1},
                                        {.start_us = 2, .end_us = 3, .stage = 2},
                                        {.start_us = 3, .end_us = 4, .stage = 3},
                                        {.start_us = 4, .end_us = 5, .stage = 4},
                                        {.start_us = 5, .end_us = 6, .stage = 5},
                                        {.start_us = 6, .end_us = 7, .stage = 6}}));
  QStringList names;
  for (const QJsonObject& event : EventsOf(run))
    if (event["ph"] == "X") names += event["name"].toString();
  QCOMPARE(names, (QStringList{"QUEUE", "NEGOTIATE_ALLGATHER", "MEMCPY_IN_FUSION_BUFFER",
                               "COMPRESS", "ALLGATHER", "MERGE", "MEMCPY_OUT_FUSION_BUFFER"}));
}

void ExportTest::ATraceBeginsAtZero() {
  const Run run =
      RunOf(RunBlock(0, 1) + NamesBlock(0, {"conv"}, 100) +
            StepsBlock(0, {{.step = 3, .duration_ms = 40, .payload_bytes = 5}}) +
            StagesBlock(0, {{.start_us = 310'000, .end_us = 310'002, .stage = 4, .bytes_in = 9}}));
  const QList<QJsonObject> events = EventsOf(run);
  const QJsonObject step = EventNamed(events, "STEP");
  QCOMPARE(step["ts"].toDouble(), 0.0);
  QCOMPARE(step["dur"].toDouble(), 40'000.0);
  QCOMPARE(step["args"]["step"].toInt(), 3);
  QCOMPARE(step["args"]["payload_bytes"].toInt(), 5);
  const QJsonObject exchange = EventNamed(events, "ALLGATHER");
  QCOMPARE(exchange["ts"].toDouble(), 10'000.0);
  QCOMPARE(exchange["dur"].toDouble(), 2.0);
  QCOMPARE(exchange["args"]["bytes_in"].toInt(), 9);
  QCOMPARE(EventNamed(events, "process_sort_index")["args"]["unix_time_at_0_ns"].toInteger(),
           300'000'000);
}

void ExportTest::TheTracksOfABucketAreNamed() {
  const Run run = RunOf(RunBlock(1, 2) + NamesBlock(1, {"conv", "a \"b\""}, 100) +
                        StagesBlock(1, {{.start_us = 0, .end_us = 1, .stage = 1, .bucket = 1},
                                        {.start_us = 1, .end_us = 2, .stage = 4, .bucket = 1}}));
  std::map<int, QString> names;
  const QList<QJsonObject> events = EventsOf(run);
  for (const QJsonObject& event : events)
    if (event["name"] == "thread_name")
      names[event["tid"].toInt()] = event["args"]["name"].toString();
  QCOMPARE(names.size(), 3u);
  QCOMPARE(names[3], "a \"b\"");
  QCOMPARE(names[4], "a \"b\" (negotiation)");
  QCOMPARE(EventNamed(events, "NEGOTIATE_ALLGATHER")["tid"].toInt(), 4);
  QCOMPARE(EventNamed(events, "ALLGATHER")["tid"].toInt(), 3);
  QCOMPARE(EventNamed(events, "process_name")["args"]["name"].toString(), "rank 1 of 2 on node-1");
}

void ExportTest::ARunThatIsEmptyIsAnEmptyTrace() { QCOMPARE(TraceOf(Run()), "[]\n"); }

void ExportTest::ADeviceThatRefusesIsSaid() {
  FullDevice device;
  device.open(QIODevice::WriteOnly);
  QVERIFY_THROWS_EXCEPTION(std::runtime_error, WriteTrace(RunOf(RunBlock(0, 1)), device));
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::ExportTest)
#include <export_test.moc>
