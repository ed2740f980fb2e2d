#include "compression/options/registry.h"

#include <array>
#include <map>
#include <utility>

#include "common/check.h"
#include "common/text/nearest.h"
#include "compression/options/alternatives.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Filled by static initialisers, in the linker's order; never changed afterwards.
std::map<std::string, CompressorInfo>& Registry() {
  static std::map<std::string, CompressorInfo> registry;
  return registry;
}

}  // namespace

CompressorRegistration::CompressorRegistration(CompressorInfo info) {
  const std::string name = info.name;
  const bool added = Registry().emplace(name, std::move(info)).second;
  WEIR_CHECK_MSG(added, "two compressors are called " + name);
}

const CompressorInfo& FindCompressor(const std::string& name) {
  const auto found = Registry().find(name);
  if (found != Registry().end()) return found->second;
  std::vector<std::string> names = {"auto"};
  std::string known = "auto";
  for (const auto& [key, info] : Registry()) {
    names.push_back(key);
    known += ", " + key;
  }
  throw InvalidArgument("compression option \"compressor\" = \"" + name +
                        "\" is not known; known are: " + known + DidYouMean(name, names));
}

ParsedOptions ParseOptions(const CompressionOptions& options) {
  const CompressionOptions plain = ResolveAuto(WithoutPrefix(options), /*momentum_sgd=*/false);
  const auto compressor = plain.find("compressor");
  if (compressor == plain.end() && !plain.empty()) {
    const std::string& key = plain.begin()->first;
    const std::array<std::string, 1> meant = {"compressor"};
    throw InvalidArgument("compression option \"" + key +
                          "\" is given without \"compressor\": say which one, for example "
                          "\"compressor\" = \"dgc\"" +
                          DidYouMean(key, meant));
  }
  const CompressorInfo& info = FindCompressor(plain.empty() ? "dense" : compressor->second);
  return ParsedOptions(info.name, info.options, plain);
}

std::string CautionOf(const ParsedOptions& options) {
  const CompressorInfo& info = FindCompressor(options.compressor());
  return info.caution ? info.caution(options) : "";
}

std::vector<CompressorInfo> ListCompressors() {
  std::vector<CompressorInfo> list;
  for (const auto& [name, info] : Registry()) list.push_back(info);
  return list;
}

}  // namespace weir
