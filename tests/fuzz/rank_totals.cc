// Totals that a rank's engine reports to weirrun.
#include "common/supervision/rank_totals.h"

#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {

void Run(std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  RankTotals totals;
  if (!Accepts<Corrupt>([&] { totals = ParseRankTotals(text); })) return;
  const std::string said = ToText(totals);
  WEIR_CHECK(ToText(ParseRankTotals(said)) == said);
}

std::vector<Bytes> Seeds() {
  RankTotals totals;
  totals.durations.Add(5'000'000);
  totals.durations.Add(90'000'000);
  totals.duration_ns = 95'000'000;
  totals.stalled = {"conv1"};
  return {Seed({}, ToText(totals)), Seed({}, ToText({}))};
}

}  // namespace weir::fuzz
