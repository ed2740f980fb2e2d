// weirrun's --config-file.
#include "launcher/options/config_file.h"

#include "launcher/options/setting_flags.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/text_file.h"
#include "weir/error.h"
#include "weir/settings.h"

namespace weir::fuzz {

using launcher::ConfigFile;
using launcher::SettingFlag;

void Run(std::span<const std::byte> bytes) {
  const TextFile file(Input(bytes).Text());
  ConfigFile config;
  if (!Accepts<InvalidArgument>([&] { config = launcher::ReadConfigFile(file.path()); })) return;
  for (const auto& [variable, value] : config.environment) {
    WEIR_CHECK(variable.starts_with("WEIR_"));
    WEIR_CHECK_MSG(config.origins.contains(variable), variable);
  }
  // A rank must accept the settings that it then reads.
  config.environment.erase("WEIR_STRICT");
  Settings::FromEnvironment(config.environment);
}

std::vector<Bytes> Seeds() {
  std::string all;
  std::string section;
  for (const SettingFlag& flag : launcher::SettingFlags()) {
    if (flag.section != section) all += flag.section + ":\n";
    section = flag.section;
    all += "  " + flag.key + ": " + (flag.is_switch() ? "true" : "1") + "\n";
  }
  return {Seed({}, all),
          Seed({}, "verbose: on\ncontroller: mpi\nautotune:\n  enabled: no\n  log-file: x\n"),
          Seed({}, "params: {fusion_threshold_mb: 64}\nlogging: {level: debug, hide-timestamp: 1}"),
          Seed({}, "library-options:\n  num-nccl-streams: 2\n"), Seed({}, "[a, &b c, *b]\n---\n")};
}

}  // namespace weir::fuzz
