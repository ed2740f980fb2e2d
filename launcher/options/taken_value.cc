#include "launcher/options/taken_value.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/text/parse_number.h"
#include "launcher/options/setting_flags.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

/// Options of numbers that are no settings of the ranks.
constexpr std::array<std::string_view, 14> kOfNumbers = {
    "--num-proc",        "--servers",
    "--min-np",          "--min-num-proc",
    "--max-np",          "--max-num-proc",
    "--ssh-port",        "-p",
    "--elastic-timeout", "--start-timeout",
    "--reset-limit",     "--slots-per-host",
    "--grace-seconds",   "--blacklist-cooldown-range"};

}  // namespace

std::string WhyNoValue(const std::string& name, const std::vector<std::string>& words) {
  const auto setting = std::ranges::find(SettingFlags(), name, &SettingFlag::flag);
  if (setting != SettingFlags().end() && !words.empty()) {
    try {
      VariableValue(*setting, name, words.front());
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  }
  if (std::ranges::find(kOfNumbers, name) == kOfNumbers.end()) return {};
  const auto other = std::ranges::find_if(
      words, [](const std::string& word) { return !ParseNumber<double>(word); });
  if (other == words.end()) return {};
  return "option '" + (name == "--num-proc" ? "-np" : name) + "' needs a " +
         (other == words.begin() ? "" : "second ") + "value: '" + *other + "' is not a number";
}

}  // namespace weir::launcher
