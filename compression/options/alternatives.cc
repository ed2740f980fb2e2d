#include "compression/options/alternatives.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

bool Names(const std::vector<std::string>& choices, const char* name) {
  return std::ranges::find(choices, name) != choices.end();
}

}  // namespace

std::vector<OptionSpec> AlternativeSpecs(std::vector<std::string> names) {
  return {{"alternatives", "", ChoiceListRule{std::move(names)},
           "Forms in which a bucket of gradients may travel instead, in the steps in which that "
           "takes less time, as measured (compression=auto gives them): whole, or by way of ranks "
           "that serve (push_pull)."}};
}

std::vector<std::string> AlternativesOf(const ParsedOptions& options) {
  if (!options.Has("alternatives")) return {};
  const std::string& route = options.Choice("route");
  if (route == "push_pull" || route == "hierarchical") {
    options.Refuse("alternatives",
                   "need a route on which each rank keeps what it has not sent, and "
                   "route=" +
                       route + " is not: leave one of them out");
  }
  for (const char* key : {"ef", "momentum"}) {
    if (options.compressor() == "dgc" || options.Choice(key) == "none") continue;
    options.Refuse("alternatives", std::string("would leave what ") + key +
                                       " remembers behind: leave one of them out");
  }
  const std::vector<std::string> alternatives = options.ChoiceList("alternatives");
  if (Names(alternatives, "push_pull") && SelectsByBucket(options)) {
    options.Refuse("alternatives",
                   "have push_pull, which adds up tensor by tensor, and selection=bucket does not: "
                   "leave one of them out");
  }
  return alternatives;
}

bool LeavesRouteOpen(const ParsedOptions& options) {
  if (!options.Has("route") || options.Given("route")) return false;
  if (options.Choice("route") != "allgather" || options.Choice("policy") != "auto") return false;
  if (!options.Has("values")) return true;
  const std::string& values = options.Choice("values");
  return values == "fp16" || values == "fp32";
}

namespace {

const ChoiceListRule& Choices() {
  static const ChoiceListRule choices{{"dense", "fp16", "int8", "dgc", "push_pull"}};
  return choices;
}

std::vector<std::string> ParseChoices(const std::string& key, const std::string& text) {
  const auto parsed = ParseValue(Choices(), text);
  if (parsed) return std::get<std::vector<std::string>>(*parsed);
  throw InvalidArgument("compression option \"" + key + "\" = \"" + text + "\" must be " +
                        Describe(Choices()) + ", none twice (compressor \"auto\").");
}

/// Returns the compressor that has the others as its alternatives.
std::string BaseOf(const std::vector<std::string>& choices) {
  for (const char* name : {"dgc", "fp16", "dense"}) {
    if (Names(choices, name)) return name;
  }
  return choices.front();
}

/// Resolves the keys with this suffix, which is empty or a pattern in brackets.
void Resolve(const std::string& suffix, bool momentum_sgd, CompressionOptions& options) {
  std::vector<std::string> choices = {"dense", "fp16"};
  if (momentum_sgd) choices.push_back("dgc");
  const auto given = options.extract("choices" + suffix);
  if (!given.empty()) choices = ParseChoices(given.key(), given.mapped());
  if (Names(choices, "push_pull") && !Names(choices, "dgc")) {
    throw InvalidArgument("compression option \"choices" + suffix +
                          "\" has push_pull, which is a route of dgc: name dgc, too.");
  }
  const std::string base = options.at("compressor" + suffix) = BaseOf(choices);
  std::erase(choices, base);
  std::string alternatives;
  for (const std::string& name : choices) alternatives += (alternatives.empty() ? "" : ",") + name;
  if (!alternatives.empty()) options["alternatives" + suffix] = alternatives;
}

}  // namespace

CompressionOptions ResolveAuto(const CompressionOptions& options, bool momentum_sgd) {
  constexpr std::string_view kCompressor = "compressor";
  CompressionOptions resolved = options;
  for (const auto& [key, value] : options) {
    const bool is_name = key == kCompressor || key.starts_with("compressor[");
    if (is_name && value == "auto") Resolve(key.substr(kCompressor.size()), momentum_sgd, resolved);
  }
  return resolved;
}

}  // namespace weir
