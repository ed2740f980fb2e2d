// Status texts of a rank for rank 0.
#include "coordinator/rank/rank_status.h"

#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {

void Run(std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string trouble;
  const RankStatus status = ParseRankStatus(text, trouble);
  if (!trouble.empty()) return;
  const std::string said = TextOf(status);
  WEIR_CHECK(TextOf(ParseRankStatus(said, trouble)) == said);
  WEIR_CHECK(trouble.empty());
}

std::vector<Bytes> Seeds() {
  RankStatus status;
  status.AddWaiting({0, "conv1"}, 0.5);
  status.AddWaiting({3, "loss"}, 60.0);
  status.last_finished = "bias";
  status.joined = {2};
  status.is_answer = false;
  return {Seed({}, TextOf(status)), Seed({}, TextOf({}))};
}

}  // namespace weir::fuzz
