#include "tests/coordinator/jobs/keeping_cases.h"

#include <algorithm>
#include <variant>

#include "compression/options/registry.h"

namespace weir {
namespace {

/// The names that a key may have as its value; none of a key that the compressor has not.
std::vector<std::string> Choices(const CompressorInfo& info, const std::string& key) {
  const auto spec = std::ranges::find(info.options, key, &OptionSpec::key);
  if (spec == info.options.end()) return {};
  return std::get<ChoiceRule>(spec->rule).names;
}

bool Understands(const CompressorInfo& info, const std::string& key) {
  return std::ranges::find(info.options, key, &OptionSpec::key) != info.options.end();
}

/// Options that make a compressor send some of this test's gradients.
CompressionOptions Basics(const CompressorInfo& info) {
  CompressionOptions options = {{"compressor", info.name}};
  if (Understands(info, "density")) options["density"] = "0.1";
  if (Understands(info, "min_elements")) options["min_elements"] = "1";
  if (Understands(info, "policy")) options["policy"] = "always";
  if (info.name == "threshold") options.insert({{"threshold", "1.5"}, {"max_density", "0.2"}});
  if (info.name == "onebit") options["scaling"] = "true";
  if (info.name == "dithering") options["k"] = "16";
  return options;
}

/// One case a kind of momentum: first that without.
std::vector<KeepingCase> WithMomenta(const CompressorInfo& info) {
  const CompressionOptions basics = Basics(info);
  std::vector<KeepingCase> cases(2, {.name = info.name, .options = basics});
  const auto add = [](KeepingCase& one, const std::string& momentum, Before before) {
    one.name += "_" + momentum;
    one.before = before;
    one.options.insert({{"momentum", momentum}, {"momentum_mu", "0.9"}});
  };
  if (info.name != "dgc") {
    for (KeepingCase& one : cases) one.options["ef"] = "vanilla";
    add(cases[1], "nesterov", Before::kNesterov);
    return cases;
  }
  cases.push_back(cases.front());
  cases[0].options["momentum"] = "none";
  add(cases[1], "vanilla", Before::kDgcVanilla);
  add(cases[2], "nesterov", Before::kDgcNesterov);
  return cases;
}

/// And the first of those with each coding of values, and with each way to select.
std::vector<KeepingCase> Variants(const CompressorInfo& info) {
  std::vector<KeepingCase> cases = WithMomenta(info);
  for (const std::string& values : Choices(info, "values")) {
    if (values == "fp16") continue;  // The default.
    KeepingCase one = cases.front();
    one.name += "_" + values;
    one.options["values"] = values;
    cases.push_back(one);
  }
  if (Understands(info, "selection")) {
    KeepingCase one = cases.front();
    one.name += "_together";
    one.options["selection"] = "bucket";
    cases.push_back(one);
  }
  return cases;
}

/// Combinations documented as impossible are refused.
bool Takes(const std::string& route, const CompressionOptions& options) {
  const auto values = options.find("values");
  const bool low_bits = values != options.end() && values->second.starts_with("int");
  if (route == "split") return !low_bits;
  return route != "push_pull" || !options.contains("selection");
}

KeepingCase On(const std::string& route, KeepingCase one) {
  one.name += "_" + route;
  one.options["route"] = route;
  if (route == "split") one.route = RouteKind::kSplit;
  if (route == "hierarchical") {
    one.route = RouteKind::kHosts;
    one.ranks_per_contributor = 2;
  }
  if (route == "push_pull") {
    one.route = RouteKind::kPushPull;
    one.options["partition_bytes"] = "400";
  }
  if (route == "allreduce") {
    one.route = RouteKind::kArray;
    // They travel as they are, and so do partial sums.
    if (one.options["compressor"] == "fp16") one.sum_unit = 0x1p-11;
    if (one.options["compressor"] == "bf16") one.sum_unit = 0x1p-8;
  }
  return one;
}

KeepingCase Masked(KeepingCase one) {
  one.name += "_masked";
  one.options["policy"] = "never";
  one.route = RouteKind::kMasked;
  return one;
}

}  // namespace

std::vector<KeepingCase> KeepingCases() {
  std::vector<KeepingCase> cases;
  for (const CompressorInfo& info : ListCompressors()) {
    if (info.name != "dgc" && !Understands(info, "ef")) continue;
    for (const KeepingCase& variant : Variants(info)) {
      for (const std::string& route : Choices(info, "route")) {
        if (Takes(route, variant.options)) cases.push_back(On(route, variant));
      }
      if (Understands(info, "policy")) cases.push_back(Masked(variant));
    }
  }
  return cases;
}

}  // namespace weir
