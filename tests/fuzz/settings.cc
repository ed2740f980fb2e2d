// The environment: WEIR_* and HOROVOD_* variables, one a line.
#include "weir/settings.h"

#include <sstream>

#include "common/settings/settings_table.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {

void Run(std::span<const std::byte> bytes) {
  std::map<std::string, std::string> environment;
  std::istringstream lines(Input(bytes).Text());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = std::min(line.find('='), line.size() - 1);
    environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  Settings settings;
  if (!Accepts<InvalidArgument>([&] { settings = Settings::FromEnvironment(environment); })) return;
  WEIR_CHECK(!settings.strict || settings.warnings().empty());
  settings.Check();
  WEIR_CHECK(settings.Entries().size() == SettingTable().size());
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds = {
      Seed({}, "HOROVOD_STALL_CHECK_DISABLE=1\nWEIR_STRICT=yes\n"),
      Seed({}, "WEIR_COMPRESSION=compressor=dgc,sparsity=[0.75,0.9]\nHOROVOD_LOG_LEVEL=info\n"),
      Seed({}, "WEIR_CYCLE_TIME=2.5\nWEIR_LAUNCHER_ORIGINS=WEIR_CYCLE_TIME=--cycle-time-ms\n")};
  // One each: a name that nobody knows takes long to compare with all that are known.
  for (const Settings::Entry& entry : Settings().Entries()) {
    seeds.push_back(Seed({}, entry.variable + "=" + entry.value));
  }
  return seeds;
}

}  // namespace weir::fuzz
