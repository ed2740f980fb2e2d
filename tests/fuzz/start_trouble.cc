// Lines by which a rank's machine reports why it does not start, among all program output.
#include "launcher/job/start_trouble.h"

#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {

using launcher::ParseTrouble;
using launcher::TroubleLine;

void Run(std::span<const std::byte> bytes) {
  const auto trouble = ParseTrouble(Input(bytes).Text());
  if (!trouble) return;
  const auto again = ParseTrouble(TroubleLine(*trouble));
  WEIR_CHECK(again && again->host == trouble->host && again->rank == trouble->rank &&
             again->why == trouble->why);
}

std::vector<Bytes> Seeds() {
  return {Seed({}, TroubleLine({.host = "node-b", .why = "ssh: no route"}) + "\n"),
          Seed({}, TroubleLine({.rank = 3, .why = "no: such file"}) + "\r\n")};
}

}  // namespace weir::fuzz
