#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

/// Options of weirrun that become WEIR_* variables of the ranks, under Horovod's names, on the
/// command line and in the config file.
namespace weir::launcher {

struct SettingFlag {
  std::string flag;      ///< "--cycle-time-ms"; for a switch, the form that turns it on.
  std::string off_flag;  ///< For a switch, the form that turns it off; else empty.
  std::string section;   ///< In the config file.
  std::string key;
  std::string setting;       ///< The setting's variable without "WEIR_".
  std::string inverted_key;  ///< Another key, which says the opposite; else empty.
  bool megabytes = false;    ///< Given in MiB, set in bytes.

  bool is_switch() const { return !off_flag.empty(); }
  std::string variable() const { return "WEIR_" + setting; }
};

std::span<const SettingFlag> SettingFlags();

/// Returns the value of the flag's variable for a user's text. `where` names the flag or the place
/// in the file. Throws InvalidArgument that names `where`, the value and what is allowed.
std::string VariableValue(const SettingFlag& flag, const std::string& where,
                          const std::string& text);

}  // namespace weir::launcher
