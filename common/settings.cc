#include "weir/settings.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/nearest.h"
#include "common/settings_table.h"

namespace weir {
namespace {

using Environment = std::map<std::string, std::string>;

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

/// Where a row may be read from, most important first, and whether the value is to be inverted.
std::vector<std::pair<std::string, bool>> Spellings(const SettingRow& row) {
  std::vector<std::pair<std::string, bool>> spellings = {{row.variable(), false}};
  if (!row.alias.empty()) {
    if (row.alias != row.name) spellings.emplace_back("WEIR_" + row.alias, row.inverted_alias);
    spellings.emplace_back("HOROVOD_" + row.alias, row.inverted_alias);
  }
  return spellings;
}

void Invert(const SettingRow& row, Settings& settings) {
  bool Settings::*const member = std::get<bool Settings::*>(row.member);
  settings.*member = !(settings.*member);
}

std::vector<std::string> UnknownVariables(const Environment& environment) {
  std::vector<std::string> known;
  for (const SettingRow& row : SettingTable()) {
    for (const auto& [variable, inverted] : Spellings(row)) known.push_back(variable);
  }
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("WEIR_") || IsInternalVariable(name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    warnings.push_back("the environment variable " + name + " is not a setting and is ignored" +
                       DidYouMean(name, known));
  }
  return warnings;
}

}  // namespace

Settings Settings::FromEnvironment() { return FromEnvironment(ProcessEnvironment()); }

Settings Settings::FromEnvironment(const Environment& environment) {
  Settings settings;
  for (const SettingRow& row : SettingTable()) {
    for (const auto& [variable, inverted] : Spellings(row)) {
      const auto found = environment.find(variable);
      if (found == environment.end() || found->second.empty()) continue;
      Parse(row, variable, found->second, settings);
      if (inverted) Invert(row, settings);
      settings.sources_[row.name] = {variable, Format(row, settings)};
      break;
    }
  }
  settings.warnings_ = UnknownVariables(environment);
  if (settings.stall_check && settings.stall_shutdown_seconds == 0) {
    settings.warnings_.emplace_back(
        "WEIR_STALL_SHUTDOWN_TIME_SECONDS is 0: a tensor that some ranks never submit is reported "
        "but never ends the job");
  }
  return settings;
}

void Settings::Check() const {
  Settings scratch;
  for (const SettingRow& row : SettingTable()) {
    const std::string value = Format(row, *this);
    if (!value.empty()) Parse(row, "the setting " + std::string(row.name), value, scratch);
  }
}

std::string Settings::Describe() const {
  const Settings defaults;
  std::string text;
  for (const SettingRow& row : SettingTable()) {
    const std::string value = Format(row, *this);
    std::string origin = value == Format(row, defaults) ? "default" : "set by the program";
    const auto source = sources_.find(row.name);
    if (source != sources_.end() && source->second.value == value) {
      origin = "from " + source->second.variable;
    }
    const bool hidden = row.secret && !value.empty();
    text += row.variable() + " = " + (hidden ? "(not shown)" : value) + "  (" + origin + ")\n";
  }
  return text;
}

}  // namespace weir
