// Blocks of a run log as the dashboard finds them: whole, cut, damaged.
#include "monitor_gui/log/block.h"

#include <QTest>

#include "tests/monitor_gui/made_blocks.h"

namespace weir::monitor {

class BlockTest : public QObject {
  Q_OBJECT

 private slots:
  void ColumnsAreThoseThatWereWritten();
  void AColumnOfAnotherNameOrTypeIsEmpty();
  void ALogCutAtAnyByteGivesItsWholeBlocks();
  void DamageCostsOnlyItsBlock();
  void AColumnBeyondTheBodyIsEmpty();
  void RowsWhoseBytesOverflowAreNoColumn();
  void ATextOfNegativeLengthIsEmpty();
};

void BlockTest::ColumnsAreThoseThatWereWritten() {
  const QByteArray bytes = MadeBlock("steps", 3)
                               .Column<qint64>("step", "<i8", {7, -8, 9})
                               .Column<quint8>("ok", "|u1", {1, 0, 1})
                               .Column<float>("density", "<f4", {0.5f, 0.25f, 1.0f})
                               .Bytes();
  const BlockScan scan = ScanBlocks(bytes);
  QCOMPARE(scan.blocks.size(), 1u);
  const Block& block = scan.blocks.front();
  QCOMPARE(block.kind(), "steps");
  QCOMPARE(block.rank(), 3);
  QCOMPARE(block.bytes(), QByteArrayView(bytes));
  const auto step = block.Column<std::int64_t>("step");
  QCOMPARE(std::vector<std::int64_t>(step.begin(), step.end()),
           (std::vector<std::int64_t>{7, -8, 9}));
  QCOMPARE(block.Column<std::uint8_t>("ok")[1], 0);
  QCOMPARE(block.Column<float>("density")[2], 1.0f);
}

void BlockTest::AColumnOfAnotherNameOrTypeIsEmpty() {
  const QByteArray bytes = MadeBlock("steps", 0).Column<qint64>("step", "<i8", {7}).Bytes();
  const BlockScan scan = ScanBlocks(bytes);
  QVERIFY(scan.blocks.front().Column<std::int64_t>("stop").empty());
  QVERIFY(scan.blocks.front().Column<float>("step").empty());
}

void BlockTest::ALogCutAtAnyByteGivesItsWholeBlocks() {
  const QByteArray first = RunBlock(0, 2);
  const QByteArray bytes = first + StepsBlock(0, {{.step = 1}});
  for (qsizetype size = 0; size <= bytes.size(); ++size) {
    const QByteArray cut = bytes.first(size);
    const BlockScan scan = ScanBlocks(cut);
    const std::size_t whole = size == bytes.size() ? 2 : size >= first.size() ? 1 : 0;
    QCOMPARE(scan.blocks.size(), whole);
    QCOMPARE(scan.damaged, 0);
    QCOMPARE(scan.used, whole == 2 ? bytes.size() : whole == 1 ? first.size() : 0);
  }
}

void BlockTest::DamageCostsOnlyItsBlock() {
  const QByteArray first = RunBlock(0, 2);
  const QByteArray damaged = StepsBlock(0, {{.step = 1}});
  const QByteArray last = StepsBlock(0, {{.step = 2}});
  for (qsizetype at = 0; at < damaged.size(); at += 3) {
    QByteArray bytes = first + damaged + last;
    bytes[first.size() + at] = static_cast<char>(bytes[first.size() + at] ^ 0x40);
    const BlockScan scan = ScanBlocks(bytes);
    if (at >= 24 && at < 32) continue;  // Readers ignore these.
    // A length that reaches beyond the end looks like a block that is not whole yet.
    if (scan.used < bytes.size()) continue;
    QCOMPARE(scan.blocks.size(), 2u);
    QCOMPARE(scan.damaged, damaged.size());
    QCOMPARE(scan.blocks.back().Column<std::int64_t>("step")[0], 2);
  }
}

void BlockTest::AColumnBeyondTheBodyIsEmpty() {
  // A head that promises more rows than there are, with checksums that are right.
  const QByteArray bytes =
      MadeBlock("steps", 0).Column<qint64>("step", "<i8", {7}).Note("rows", 1'000'000).Bytes();
  const BlockScan scan = ScanBlocks(bytes);
  QCOMPARE(scan.blocks.size(), 1u);
  QVERIFY(scan.blocks.front().Column<std::int64_t>("step").empty());
}

void BlockTest::RowsWhoseBytesOverflowAreNoColumn() {
  // 8 times as much is 8 in 64 bits.
  const QByteArray bytes = MadeBlock("steps", 0)
                               .Column<qint64>("step", "<i8", {7})
                               .Note("rows", (qint64{1} << 61) + 1)
                               .Bytes();
  const BlockScan scan = ScanBlocks(bytes);
  QCOMPARE(scan.blocks.size(), 1u);
  QVERIFY(scan.blocks.front().Column<std::int64_t>("step").empty());
}

void BlockTest::ATextOfNegativeLengthIsEmpty() {
  const QByteArray bytes = MadeBlock("run", 0).Text("{}").Note("text_bytes", -1).Bytes();
  const BlockScan scan = ScanBlocks(bytes);
  QCOMPARE(scan.blocks.size(), 1u);
  QCOMPARE(scan.blocks.front().text().size(), 0);
}

}  // namespace weir::monitor

QTEST_GUILESS_MAIN(weir::monitor::BlockTest)
#include <block_test.moc>
