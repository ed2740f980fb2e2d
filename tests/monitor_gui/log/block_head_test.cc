// Heads of blocks from any writer.
#include "monitor_gui/log/block_head.h"

#include <QTest>

namespace weir::monitor {

class BlockHeadTest : public QObject {
  Q_OBJECT

 private slots:
  void TheOrderOfKeysMeansNothing_data();
  void TheOrderOfKeysMeansNothing();
  void TheSameColumnsAreShared();
  void WhatIsNoHeadSaysNothing();
};

void BlockHeadTest::TheOrderOfKeysMeansNothing_data() {
  QTest::addColumn<QByteArray>("json");
  QTest::newRow("columns last, as the engine has them")
      << QByteArray(R"({"kind":"stages","rank":3,"number":9,"lost":2,"rows":7,)"
                    R"("columns":[["step","<i8"],["ok","|u1"]]}    )");
  QTest::newRow("columns first") << QByteArray(
      R"({"columns":[["step","<i8"],["ok","|u1"]],"kind":"stages","lost":2,)"
      R"("number":9,"rank":3,"rows":7})");
  QTest::newRow("columns in the middle")
      << QByteArray(R"({"kind":"stages","rank":3,"columns":[["step","<i8"],["ok","|u1"]],)"
                    R"("number":9,"lost":2,"rows":7})");
  QTest::newRow("with room") << QByteArray(
      R"({ "kind": "stages", "rank": 3, "number": 9, "lost": 2, "rows": 7, )"
      R"("columns": [ ["step", "<i8"], ["ok", "|u1"] ] })");
  QTest::newRow("and a text that looks like columns")
      << QByteArray(R"({"kind":"stages","rank":3,"remark":"a,\"columns\":[]","number":9,"lost":2,)"
                    R"("rows":7,"columns":[["step","<i8"],["ok","|u1"]]})");
}

void BlockHeadTest::TheOrderOfKeysMeansNothing() {
  QFETCH(QByteArray, json);
  HeadReader heads;
  for (int time = 0; time < 2; ++time) {  // And once more, when it knows the columns.
    const BlockHead head = heads.Read(json);
    QCOMPARE(head.kind, "stages");
    QCOMPARE(head.rank, 3);
    QCOMPARE(head.number, 9);
    QCOMPARE(head.lost, 2);
    QCOMPARE(head.rows, 7);
    QCOMPARE(head.columns->size(), 2u);
    QCOMPARE((*head.columns)[1].name, "ok");
    QCOMPARE((*head.columns)[1].type, "|u1");
    QCOMPARE((*head.columns)[1].width, 1);
  }
}

void BlockHeadTest::TheSameColumnsAreShared() {
  HeadReader heads;
  const BlockHead one = heads.Read(R"({"kind":"steps","rank":0,"columns":[["step","<i8"]]})");
  const BlockHead same = heads.Read(R"({"kind":"steps","rank":1,"columns":[["step","<i8"]]})");
  const BlockHead other = heads.Read(R"({"kind":"steps","rank":1,"columns":[["step","<u8"]]})");
  QCOMPARE(one.columns, same.columns);
  QCOMPARE(same.rank, 1);
  QVERIFY(other.columns != one.columns);
  QCOMPARE(other.columns->front().type, "<u8");
}

void BlockHeadTest::WhatIsNoHeadSaysNothing() {
  HeadReader heads;
  for (const char* json : {"", "[]", "7", "{", R"({"columns":)", R"(x,"columns":[["a","<i8"]]})"}) {
    const BlockHead head = heads.Read(QByteArrayView(json));
    QCOMPARE(head.kind, "");
    QCOMPARE(head.rank, -1);
    QVERIFY(head.columns->empty());
  }
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::BlockHeadTest)
#include <block_head_test.moc>
