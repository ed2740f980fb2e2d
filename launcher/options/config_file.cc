#include "launcher/options/config_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "common/text/nearest.h"
#include "launcher/options/horovod_flags.h"
#include "launcher/options/setting_flags.h"
#include "launcher/text/text_file.h"
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

/// Finds only the beginning of a document.
class DocumentStart : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

/// Throws InvalidArgument unless the text is one document, or none. yaml-cpp itself leaves
/// unreadable text after a document to the next one, and would make endless empty documents of it.
void CheckIsOneDocument(const std::string& path, const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (!parser.HandleNextDocument(start) || !parser.HandleNextDocument(start)) return;
  const auto place = static_cast<std::size_t>(start.mark().pos);
  const bool marked = text.compare(std::min(place, text.size()), 3, "---") == 0;
  throw InvalidArgument(path + ":" + std::to_string(start.mark().line + 1) +
                        (marked ? ": a second document begins (\"---\"); a file has one"
                                : ": what begins here is not YAML, or a second document"));
}

bool ReadBoolean(const std::string& where, const YAML::Node& value) {
  bool on = false;
  if (!value.IsScalar() || !YAML::convert<bool>::decode(value, on)) {
    const std::string text = value.IsScalar() ? "'" + value.Scalar() + "'" : "a list or section";
    throw InvalidArgument(where + ": " + text + " is neither true nor false");
  }
  return on;
}

struct Entry {
  std::string name;   ///< The key's, with "-" for "_": Horovod's files have either.
  std::string where;  ///< "file:3"
  YAML::Node value;
};

/// Returns the entries of a section, or of the whole file; none when it is empty.
std::vector<Entry> Entries(const std::string& path, const std::string& what,
                           const YAML::Node& node) {
  if (node.IsNull()) return {};
  if (!node.IsMap()) {
    throw InvalidArgument(Where(path, node) + ": " + what + " is a " +
                          (node.IsSequence() ? "list" : "single value '" + node.Scalar() + "'") +
                          "; lines \"key: value\" are expected");
  }
  std::vector<Entry> entries;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      throw InvalidArgument(Where(path, entry.first) + ": a key must be a word");
    }
    std::string name = entry.first.Scalar();
    std::ranges::replace(name, '_', '-');
    if (!seen.insert(name).second) {
      throw InvalidArgument(Where(path, entry.first) + ": '" + name +
                            "' appears a second time; give it once");
    }
    entries.push_back({name, Where(path, entry.first), entry.second});
  }
  return entries;
}

/// Reads an option that sets nothing here; returns whether it is one.
bool ReadHorovodsEntry(const std::string& where, const std::string& flag, const YAML::Node& value,
                       ConfigFile& config) {
  const auto accepted = std::ranges::find(AcceptedFlags(), flag, &AcceptedFlag::flag);
  if (accepted == AcceptedFlags().end()) return false;
  if (accepted->values == 0 && !ReadBoolean(where, value)) return true;
  if (!accepted->says.empty()) {
    config.notices.push_back(where + " has no effect: " + accepted->says);
  }
  return true;
}

/// Reads how the ranks meet: Horovod's --mpi, --gloo or --jsrun.
void ReadController(const Entry& entry, ConfigFile& config) {
  const std::vector<std::string> known = {"mpi", "gloo", "jsrun"};
  const std::string text = entry.value.IsScalar() ? entry.value.Scalar() : "a list or section";
  const std::string where = entry.where + ": controller " + text;
  if (std::ranges::find(known, text) == known.end()) ThrowUnknown(where, text, known);
  const auto flag = std::ranges::find(ControllerFlags(), "--" + text, &ControllerFlag::flag);
  if (flag == ControllerFlags().end()) {
    ReadHorovodsEntry(where, "--" + text, YAML::Node(true), config);
    return;
  }
  config.environment["WEIR_TRANSPORT"] = flag->transport;
  config.origins["WEIR_TRANSPORT"] = entry.where;
}

void ReadEntry(const std::string& section, const Entry& entry, ConfigFile& config) {
  const auto& [name, place, value] = entry;
  const std::string where = place + ": " + section + "." + name;
  if (!value.IsScalar()) throw InvalidArgument(where + " must be one value");
  std::vector<std::string> known;
  for (const SettingFlag& flag : SettingFlags()) {
    if (flag.section != section) continue;
    if (flag.key == name || flag.inverted_key == name) {
      const std::string text = flag.key == name            ? value.Scalar()
                               : ReadBoolean(where, value) ? "false"
                                                           : "true";
      if (config.environment.contains(flag.variable())) {
        throw InvalidArgument(where + " and the line at " + config.origins.at(flag.variable()) +
                              " say what to do about the same; give one of them");
      }
      config.environment[flag.variable()] = VariableValue(flag, where, text);
      config.origins[flag.variable()] = place;
      return;
    }
    known.push_back(flag.key);
    if (!flag.inverted_key.empty()) known.push_back(flag.inverted_key);
  }
  // Some of Horovod's names begin with their section's.
  for (const std::string& flag : {"--" + name, "--" + section + "-" + name}) {
    if (ReadHorovodsEntry(where, flag, value, config)) return;
  }
  if (section == kLibraryOptions) {
    known = {"mpi-threads-disable", "num-nccl-streams", "thread-affinity", "gloo-timeout-seconds"};
  }
  ThrowUnknown(where, name, known);
}

}  // namespace

ConfigFile ReadConfigFile(const std::string& path) {
  ConfigFile config;
  try {
    const std::string text = ReadTextFile("--config-file", path);
    CheckIsOneDocument(path, text);
    const YAML::Node root = YAML::Load(text);
    std::set<std::string> sections = {kLibraryOptions};
    for (const SettingFlag& flag : SettingFlags()) sections.insert(flag.section);
    for (const Entry& entry : Entries(path, "the file", root)) {
      const auto& [name, place, value] = entry;
      if (name == "verbose") {
        config.verbose = ReadBoolean(place + ": verbose", value);
      } else if (name == "controller") {
        ReadController(entry, config);
      } else if (sections.contains(name)) {
        for (const Entry& setting : Entries(path, name, value)) ReadEntry(name, setting, config);
      } else {
        std::vector<std::string> known = {"controller", "verbose"};
        known.insert(known.end(), sections.begin(), sections.end());
        ThrowUnknown(place, name, known);
      }
    }
  } catch (const YAML::Exception& error) {
    throw InvalidArgument(path + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  return config;
}

}  // namespace weir::launcher
