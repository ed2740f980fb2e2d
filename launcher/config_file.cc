#include "launcher/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/nearest.h"
#include "launcher/horovod_flags.h"
#include "launcher/setting_flags.h"
#include "launcher/text_file.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

constexpr const char* kLibraryOptions = "library-options";

[[noreturn]] void ThrowUnknown(const std::string& where, const std::string& key,
                               const std::vector<std::string>& known) {
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  const std::string meant = DidYouMean(key, known);
  throw InvalidArgument(where + ": unknown key '" + key + "'" +
                        (meant.empty() ? "; known are: " + all : meant));
}

std::string Where(const std::string& path, const YAML::Node& node) {
  return path + ":" + std::to_string(node.Mark().line + 1);
}

bool ReadBoolean(const std::string& where, const YAML::Node& value) {
  bool on = false;
  if (!value.IsScalar() || !YAML::convert<bool>::decode(value, on)) {
    const std::string text = value.IsScalar() ? "'" + value.Scalar() + "'" : "a list or section";
    throw InvalidArgument(where + ": " + text + " is neither true nor false");
  }
  return on;
}

/// The entries of a section, or of the whole file; none when there is nothing in it.
std::vector<std::pair<YAML::Node, YAML::Node>> Entries(const std::string& path,
                                                       const std::string& what,
                                                       const YAML::Node& node) {
  if (node.IsNull()) return {};
  if (!node.IsMap()) {
    throw InvalidArgument(Where(path, node) + ": " + what + " is a " +
                          (node.IsSequence() ? "list" : "single value '" + node.Scalar() + "'") +
                          "; lines \"key: value\" are expected");
  }
  std::vector<std::pair<YAML::Node, YAML::Node>> entries;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      throw InvalidArgument(Where(path, entry.first) + ": a key must be a word");
    }
    if (!seen.insert(entry.first.Scalar()).second) {
      throw InvalidArgument(Where(path, entry.first) + ": '" + entry.first.Scalar() +
                            "' is here a second time; give it once");
    }
    entries.emplace_back(entry.first, entry.second);
  }
  return entries;
}

/// Of an option that sets nothing here; whether it is one.
bool ReadHorovodsEntry(const std::string& where, const std::string& flag, const YAML::Node& value,
                       ConfigFile& config) {
  const std::string why = WhyRefused(flag);
  const auto accepted = std::ranges::find(AcceptedFlags(), flag, &AcceptedFlag::flag);
  if (accepted == AcceptedFlags().end() && why.empty()) return false;
  const bool is_switch = !why.empty() || accepted->values == 0;
  if (is_switch && !ReadBoolean(where, value)) return true;
  if (!why.empty()) throw InvalidArgument(where + " " + why);
  if (!accepted->says.empty()) {
    config.notices.push_back(where + " has no effect: " + accepted->says);
  }
  return true;
}

/// What says no may stay in a file; its parameters then ask for nothing.
void ReadAutotune(const std::string& path, const YAML::Node& section) {
  const std::vector<std::string> parameters = {"log-file", "warmup-samples", "steps-per-sample",
                                               "bayes-opt-max-samples", "gaussian-process-noise"};
  for (const auto& [key, value] : Entries(path, "autotune", section)) {
    const std::string where = Where(path, key) + ": autotune." + key.Scalar();
    if (key.Scalar() == "enabled") {
      if (ReadBoolean(where, value)) throw InvalidArgument(where + " " + WhyRefused("--autotune"));
    } else if (std::ranges::find(parameters, key.Scalar()) == parameters.end()) {
      std::vector<std::string> known = parameters;
      known.emplace_back("enabled");
      ThrowUnknown(where, key.Scalar(), known);
    }
  }
}

void ReadEntry(const std::string& path, const std::string& section, const YAML::Node& key,
               const YAML::Node& value, ConfigFile& config) {
  const std::string where = Where(path, key) + ": " + section + "." + key.Scalar();
  if (!value.IsScalar()) throw InvalidArgument(where + " must be one value");
  std::vector<std::string> known;
  for (const SettingFlag& flag : SettingFlags()) {
    if (flag.section != section) continue;
    if (flag.key == key.Scalar()) {
      const std::string text = !flag.inverted_key          ? value.Scalar()
                               : ReadBoolean(where, value) ? "false"
                                                           : "true";
      config.environment[flag.variable()] = VariableValue(flag, where, text);
      config.origins[flag.variable()] = Where(path, key);
      return;
    }
    known.push_back(flag.key);
  }
  if (ReadHorovodsEntry(where, "--" + key.Scalar(), value, config)) return;
  if (section == kLibraryOptions) {
    known = {"mpi-threads-disable", "num-nccl-streams", "thread-affinity", "gloo-timeout-seconds"};
  }
  ThrowUnknown(where, key.Scalar(), known);
}

}  // namespace

ConfigFile ReadConfigFile(const std::string& path) {
  ConfigFile config;
  try {
    const YAML::Node root = YAML::Load(ReadTextFile("--config-file", path));
    std::set<std::string> sections = {kLibraryOptions};
    for (const SettingFlag& flag : SettingFlags()) sections.insert(flag.section);
    for (const auto& [key, value] : Entries(path, "the file", root)) {
      const std::string name = key.Scalar();
      if (name == "verbose") {
        config.verbose = ReadBoolean(Where(path, key) + ": verbose", value);
      } else if (name == "autotune") {
        ReadAutotune(path, value);
      } else if (sections.contains(name)) {
        for (const auto& [setting, text] : Entries(path, name, value)) {
          ReadEntry(path, name, setting, text, config);
        }
      } else {
        std::vector<std::string> known = {"autotune", "verbose"};
        known.insert(known.end(), sections.begin(), sections.end());
        ThrowUnknown(Where(path, key), name, known);
      }
    }
  } catch (const YAML::Exception& error) {
    throw InvalidArgument(path + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  return config;
}

}  // namespace weir::launcher
