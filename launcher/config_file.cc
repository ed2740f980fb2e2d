#include "launcher/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "common/nearest.h"
#include "launcher/setting_flags.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

[[noreturn]] void ThrowUnknown(const std::string& where, const std::string& key,
                               const std::vector<std::string>& known) {
  throw InvalidArgument(where + ": unknown key '" + key + "'; did you mean '" +
                        Nearest(key, known) + "'?");
}

std::string Where(const std::string& path, const YAML::Node& node) {
  return path + ":" + std::to_string(node.Mark().line + 1);
}

std::string Opposite(const std::string& where, const YAML::Node& value) {
  bool on = false;
  if (!YAML::convert<bool>::decode(value, on)) {
    throw InvalidArgument(where + ": '" + value.Scalar() + "' is neither true nor false");
  }
  return on ? "false" : "true";
}

void ReadEntry(const std::string& path, const std::string& section, const YAML::Node& key,
               const YAML::Node& value, ConfigFile& config) {
  const std::string where = Where(path, key) + ": " + section + "." + key.Scalar();
  if (!value.IsScalar()) throw InvalidArgument(where + " must be one value");
  std::vector<std::string> known;
  for (const SettingFlag& flag : SettingFlags()) {
    if (flag.section != section) continue;
    if (flag.key == key.Scalar()) {
      const std::string text = flag.inverted_key ? Opposite(where, value) : value.Scalar();
      config.environment[flag.variable()] = VariableValue(flag, where, text);
      return;
    }
    known.push_back(flag.key);
  }
  if (std::ranges::count(IgnoredFlags(), "--" + key.Scalar(), &IgnoredFlag::flag) != 0) {
    config.notices.push_back(where + " is accepted and has no effect");
    return;
  }
  ThrowUnknown(where, key.Scalar(), known);
}

}  // namespace

ConfigFile ReadConfigFile(const std::string& path) {
  ConfigFile config;
  try {
    const YAML::Node root = YAML::LoadFile(path);
    std::set<std::string> sections;
    for (const SettingFlag& flag : SettingFlags()) sections.insert(flag.section);
    for (const auto& entry : root) {
      const std::string name = entry.first.Scalar();
      if (name == "verbose") {
        config.verbose = entry.second.as<bool>();
      } else if (name == "autotune" || name == "library-options") {
        config.notices.push_back(Where(path, entry.first) + ": " + name +
                                 " is accepted and has no effect");
      } else if (sections.contains(name)) {
        for (const auto& setting : entry.second) {
          ReadEntry(path, name, setting.first, setting.second, config);
        }
      } else {
        ThrowUnknown(Where(path, entry.first), name, {sections.begin(), sections.end()});
      }
    }
  } catch (const YAML::BadFile&) {
    throw InvalidArgument("--config-file: cannot read '" + path + "'");
  } catch (const YAML::Exception& error) {
    throw InvalidArgument(path + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  return config;
}

}  // namespace weir::launcher
