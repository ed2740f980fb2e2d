#pragma once

#include <span>
#include <string>
#include <variant>

#include "weir/settings.h"

namespace weir {

using StringMap = std::map<std::string, std::string>;

/// One setting: its variables, its member, and the values that it allows.
struct SettingRow {
  using Member =
      std::variant<bool Settings::*, int Settings::*, std::size_t Settings::*, double Settings::*,
                   std::string Settings::*, LogLevel Settings::*, PipelineMode Settings::*,
                   TransportKind Settings::*, GpuTransport Settings::*, StringMap Settings::*>;

  std::string name;  ///< Read from "WEIR_" + name.
  std::string
      alias;  ///< Read from "WEIR_" + alias, then "HOROVOD_" + alias; empty: Horovod has none.
  Member member;
  std::string allowed;  ///< For people; `Parse` refuses all other values.
  std::string help;
  double min = 0;  ///< Smallest number, inclusive.
  double max = 0;
  bool inverted_alias = false;  ///< The alias says the opposite ("..._DISABLE").
  bool secret = false;          ///< Never printed.
  std::string nothing = "";     ///< Horovod's word for a value that sets nothing.

  std::string variable() const { return "WEIR_" + name; }
};

/// All settings, in the order in which they are documented. Thread-safe.
std::span<const SettingRow> SettingTable();

/// True for variables that Weir's own programs hand to each other (a rank's number, its
/// supervisor's socket). They are known without being settings.
bool IsInternalVariable(const std::string& name);

/// Parses `text` into the row's member. Throws InvalidArgument that names `variable`.
void Parse(const SettingRow& row, const std::string& variable, const std::string& text,
           Settings& settings);

/// Writes the row's value as its variable would hold it.
std::string Format(const SettingRow& row, const Settings& settings);

/// docs/reference/settings.md, generated from the table.
std::string SettingsReference();

}  // namespace weir
