#include "compression/options/options.h"

#include <algorithm>

#include "common/check.h"
#include "common/text/nearest.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::string_view kBytePsPrefix = "byteps_";

std::string Quoted(const std::string& key, const std::string& value) {
  return "compression option \"" + key + "\" = \"" + value + "\" ";
}

std::vector<std::string> KeysOf(const std::vector<OptionSpec>& specs) {
  std::vector<std::string> keys = {"compressor"};
  for (const OptionSpec& spec : specs) keys.push_back(spec.key);
  return keys;
}

/// Names of BytePS's core, which users meet beside those of its plugins.
const std::map<std::string, std::string>& CoreNames() {
  static const std::map<std::string, std::string> names = {
      {"compressor_type", "compressor"},
      {"compressor_k", "k"},
      {"compressor_onebit_scaling", "scaling"},
      {"ef_type", "ef"},
      {"momentum_type", "momentum"},
  };
  return names;
}

/// Returns the name after BytePS's prefix and keeps any pattern: "compressor_k[fc*]" is "k[fc*]".
std::string PlainName(const std::string& name) {
  const std::string bare = name.substr(0, name.find('['));
  const auto known = CoreNames().find(bare);
  return known == CoreNames().end() ? name : known->second + name.substr(bare.size());
}

[[noreturn]] void ThrowUnknownKey(const std::string& compressor, const std::string& key,
                                  const std::string& value, const std::vector<std::string>& keys) {
  std::string known;
  for (const std::string& name : keys) known += (known.empty() ? "" : ", ") + name;
  throw InvalidArgument(Quoted(key, value) + "is not understood by compressor \"" + compressor +
                        "\", which understands: " + known + DidYouMean(key, keys));
}

}  // namespace

std::vector<OptionSpec> JoinSpecs(const std::vector<std::vector<OptionSpec>>& lists) {
  std::vector<OptionSpec> joined;
  for (const auto& list : lists) {
    for (const OptionSpec& spec : list) {
      const auto same = std::ranges::find(joined, spec.key, &OptionSpec::key);
      if (same == joined.end()) {
        joined.push_back(spec);
      } else {
        *same = spec;
      }
    }
  }
  return joined;
}

ParsedOptions::ParsedOptions(const std::string& compressor, const std::vector<OptionSpec>& specs,
                             const CompressionOptions& options)
    : compressor_(compressor), given_(options) {
  given_.erase("compressor");
  const std::vector<std::string> keys = KeysOf(specs);
  for (const auto& [key, value] : given_) {
    if (std::ranges::find(keys, key) == keys.end()) {
      ThrowUnknownKey(compressor, key, value, keys);
    }
  }
  for (const OptionSpec& spec : specs) {
    const auto given = given_.find(spec.key);
    const std::string& text = given == given_.end() ? spec.default_text : given->second;
    if (given == given_.end() && text.empty()) continue;
    auto value = ParseValue(spec.rule, text);
    WEIR_CHECK_MSG(value || given != given_.end(), "default of " + spec.key + " breaks its rule");
    if (!value) Refuse(spec.key, "must be " + Describe(spec.rule));
    values_.emplace(spec.key, *std::move(value));
  }
}

template <typename T>
const T& ParsedOptions::Get(const std::string& key) const {
  const auto found = values_.find(key);
  WEIR_CHECK_MSG(found != values_.end(), "no option " + key);
  WEIR_CHECK_MSG(std::holds_alternative<T>(found->second), "other type: " + key);
  return std::get<T>(found->second);
}

double ParsedOptions::Real(const std::string& key) const { return Get<double>(key); }
std::int64_t ParsedOptions::Integer(const std::string& key) const { return Get<std::int64_t>(key); }
bool ParsedOptions::Flag(const std::string& key) const { return Get<bool>(key); }
const std::string& ParsedOptions::Choice(const std::string& key) const {
  return Get<std::string>(key);
}
bool ParsedOptions::IsAuto(const std::string& key) const {
  const auto found = values_.find(key);
  return found != values_.end() && std::holds_alternative<std::string>(found->second);
}
const std::vector<double>& ParsedOptions::RealList(const std::string& key) const {
  return Get<std::vector<double>>(key);
}
const std::vector<std::string>& ParsedOptions::ChoiceList(const std::string& key) const {
  return Get<std::vector<std::string>>(key);
}

void ParsedOptions::Refuse(const std::string& key, const std::string& complaint) const {
  const auto given = given_.find(key);
  throw InvalidArgument(Quoted(key, given == given_.end() ? "" : given->second) + complaint +
                        " (compressor \"" + compressor_ + "\").");
}

CompressionOptions WithoutPrefix(const CompressionOptions& options) {
  CompressionOptions plain;
  for (const auto& [key, value] : options) {
    const bool prefixed = key.starts_with(kBytePsPrefix);
    const std::string name = prefixed ? PlainName(key.substr(kBytePsPrefix.size())) : key;
    if (!plain.emplace(name, value).second) {
      throw InvalidArgument(Quoted(name, value) +
                            "is given twice, once in BytePS's words (\"byteps_\"); keep one.");
    }
  }
  return plain;
}

}  // namespace weir
