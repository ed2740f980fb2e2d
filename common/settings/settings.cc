#include "weir/settings.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "common/settings/settings_table.h"
#include "common/settings/strict.h"
#include "common/settings/variable_names.h"
#include "common/supervision/supervision.h"
#include "weir/error.h"

namespace weir {
namespace {

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

/// Lists a row's variables, most important first, each with whether to invert its value.
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

/// Reads lines "WEIR_CYCLE_TIME=--cycle-time-ms": a variable, and the option that set it.
std::map<std::string, std::string> LauncherOrigins(const Environment& environment) {
  std::map<std::string, std::string> origins;
  const auto found = environment.find(supervision::kOriginsVariable);
  if (found == environment.end()) return origins;
  std::istringstream lines(found->second);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) origins[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return origins;
}

}  // namespace

Settings Settings::FromEnvironment() { return FromEnvironment(ProcessEnvironment()); }

Settings Settings::FromEnvironment(const Environment& environment) {
  Settings settings;
  std::vector<std::string> known;
  const std::map<std::string, std::string> origins = LauncherOrigins(environment);
  for (const SettingRow& row : SettingTable()) {
    const auto spellings = Spellings(row);
    for (const auto& [variable, inverted] : spellings) known.push_back(variable);
    for (const auto& [variable, inverted] : spellings) {
      const auto found = environment.find(variable);
      if (found == environment.end()) continue;
      if (found->second.empty() || found->second == row.nothing) continue;
      Parse(row, variable, found->second, settings);
      if (inverted) Invert(row, settings);
      const auto origin = origins.find(variable);
      settings.sources_[row.name] = {origin == origins.end() ? variable : origin->second,
                                     Format(row, settings)};
      break;
    }
  }
  // A rank that believed itself alone would wait for ranks, or leave them waiting.
  if (settings.servers > 0 && environment.contains(supervision::kOriginsVariable) &&
      !origins.contains("WEIR_SERVERS")) {
    throw InvalidArgument(
        "only weirrun --servers may set WEIR_SERVERS, as it starts the servers: give that option, "
        "and do not set the variable");
  }
  settings.warnings_ = UnknownVariables(environment, known);
  const std::vector<std::string> ignored = IgnoredHorovodVariables(environment, known);
  if (!ignored.empty()) {
    settings.warnings_.push_back(
        fmt::format("without effect in Weir: {}", fmt::join(ignored, ", ")));
  }
  if (settings.stall_check && settings.stall_shutdown_seconds == 0) {
    settings.warnings_.emplace_back(
        "WEIR_STALL_SHUTDOWN_TIME_SECONDS is 0: a tensor that some ranks never submit is reported "
        "but never ends the job");
  }
  if (settings.deterministic && settings.hierarchical_allreduce) {
    settings.warnings_.emplace_back(
        "WEIR_HIERARCHICAL_ALLREDUCE has no effect where WEIR_DETERMINISTIC asks for sums in rank "
        "order");
  }
  settings.ThrowIfStrict();
  return settings;
}

void Settings::ThrowIfStrict() const {
  if (strict && !warnings_.empty())
    throw StrictError(fmt::format("{}", fmt::join(warnings_, "; ")));
}

void Settings::Check() const {
  Settings scratch;
  for (const SettingRow& row : SettingTable()) {
    const std::string value = Format(row, *this);
    if (!value.empty()) Parse(row, "the setting " + std::string(row.name), value, scratch);
  }
  ThrowIfStrict();
}

std::vector<Settings::Entry> Settings::Entries() const {
  const Settings defaults;
  std::vector<Entry> entries;
  for (const SettingRow& row : SettingTable()) {
    const std::string value = Format(row, *this);
    std::string origin = value == Format(row, defaults) ? "default" : "set by the program";
    const auto source = sources_.find(row.name);
    if (source != sources_.end() && source->second.value == value) {
      origin = source->second.variable;
    }
    const bool hidden = row.secret && !value.empty();
    entries.push_back({row.variable(), hidden ? "(not shown)" : value, origin});
  }
  return entries;
}

std::string Settings::Describe() const {
  std::string text;
  for (const Entry& entry : Entries()) {
    const bool named = entry.source != "default" && entry.source != "set by the program";
    text += entry.variable + " = " + entry.value + "  (" + (named ? "from " : "") + entry.source +
            ")\n";
  }
  return text;
}

}  // namespace weir
