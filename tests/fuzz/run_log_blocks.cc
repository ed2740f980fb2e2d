// The blocks of a run log, as the dashboard finds them in a file or in an answer of /log.
#include <zlib.h>

#include <QJsonDocument>
#include <array>
#include <cstring>

#include "monitor_gui/log/block.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/monitor_gui/made_blocks.h"

namespace weir::fuzz {
namespace {

using monitor::Block;

constexpr std::size_t kPrefixBytes = 32;
constexpr std::size_t kCheckedPrefixBytes = 20;
constexpr std::array kNames = {"step", "start_ns", "end_ns", "density", "ok", "elements"};

std::uint32_t Crc(std::span<const std::byte> bytes, std::uint32_t crc = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Gives every block the checksums that its bytes have, as far as its lengths fit: behind random
/// ones no head would ever be read.
void Mend(std::span<std::byte> bytes) {
  while (bytes.size() >= kPrefixBytes) {
    const std::uint64_t head = LoadLittleEndian<std::uint32_t>(bytes.data() + 8);
    const std::uint64_t body = LoadLittleEndian<std::uint32_t>(bytes.data() + 12);
    if (kPrefixBytes + head + body > bytes.size()) return;
    StoreLittleEndian(bytes.data() + 16, Crc(bytes.subspan(kPrefixBytes + head, body)));
    StoreLittleEndian(bytes.data() + kCheckedPrefixBytes,
                      Crc(bytes.subspan(kPrefixBytes, head), Crc(bytes.first(20))));
    bytes = bytes.subspan(kPrefixBytes + head + body);
  }
}

/// A column lies inside its block.
template <class T>
void CheckColumn(const Block& block, const char* name) {
  const std::span<const T> values = block.Column<T>(name);
  if (values.empty()) return;
  const auto* const begin = reinterpret_cast<const char*>(values.data());
  WEIR_CHECK(begin >= block.bytes().data() &&
             begin + values.size_bytes() <= block.bytes().data() + block.bytes().size());
  WEIR_CHECK(static_cast<qsizetype>(values.size()) == block.rows());
}

void CheckBlock(const Block& block) {
  WEIR_CHECK(block.kind().size() >= 0 && block.rank() >= INT32_MIN);
  for (const char* name : kNames) {
    CheckColumn<std::int64_t>(block, name);
    CheckColumn<std::uint64_t>(block, name);
    CheckColumn<std::uint32_t>(block, name);
    CheckColumn<float>(block, name);
    CheckColumn<std::uint8_t>(block, name);
  }
  const QByteArrayView text = block.text();
  WEIR_CHECK(text.size() >= 0 && text.size() <= block.bytes().size());
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const bool mend = input.Number(3) != 0;
  // In memory that begins at a multiple of 8, as a log's does.
  Bytes log(input.Rest().begin(), input.Rest().end());
  if (mend) Mend(log);
  const auto size = static_cast<qsizetype>(log.size());
  const monitor::BlockScan scan =
      monitor::ScanBlocks({reinterpret_cast<const char*>(log.data()), size});
  WEIR_CHECK(scan.used <= size && scan.damaged >= 0);
  qsizetype whole = 0;
  for (const Block& block : scan.blocks) {
    whole += block.bytes().size();
    CheckBlock(block);
  }
  WEIR_CHECK_MSG(whole + scan.damaged == scan.used, "a byte is of a block, or damaged");
}

std::vector<Bytes> Seeds() {
  using namespace monitor;
  const QByteArray steps = StepsBlock(0, {{.step = 1}, {.step = 2}});
  std::vector<Bytes> seeds;
  for (const QByteArray& log :
       {RunBlock(0, 2) + steps, NamesBlock(1, {"w", "b"}, 7), GradientsBlock(0, {{.step = 3}}),
        StagesBlock(2, {{.end_us = 4}}), steps + QByteArray(16, 'x') + steps,
        MadeBlock("gap", 0).Note("blocks", 3).Text("").Bytes(),
        // Numbers that no log has, and a fuzzer would be long in finding.
        MadeBlock("steps", 0)
            .Column<qint64>("step", "<i8", {7})
            .Note("rows", qint64{INT64_MAX})
            .Bytes(),
        MadeBlock("run", 0).Text("{}").Note("text_bytes", -1).Bytes()}) {
    seeds.push_back(Seed({1}, log.toStdString()));
  }
  return seeds;
}

}  // namespace weir::fuzz
