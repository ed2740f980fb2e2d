#include "compression/options/route_options.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compression/options/standard_options.h"

namespace weir {
namespace {

/// True if ranks may add up what others send (push_pull), in all steps or in some.
bool MayBeServed(const ParsedOptions& options) {
  if (options.Choice("route") == "push_pull") return true;
  if (!options.Has("alternatives")) return false;
  const std::vector<std::string> alternatives = options.ChoiceList("alternatives");
  return std::ranges::find(alternatives, "push_pull") != alternatives.end();
}

std::size_t PartitionElementsOf(const ParsedOptions& options) {
  const std::size_t elements =
      static_cast<std::size_t>(options.Integer("partition_bytes")) / sizeof(float);
  // A tensor that is one element longer is cut into halves.
  if ((elements + 1) / 2 < MinElementsOf(options)) {
    options.Refuse("partition_bytes",
                   "cuts tensors into parts that are too small to be compressed "
                   "(\"min_elements\", \"min_compress_bytes\"): raise it, or lower those");
  }
  return elements;
}

}  // namespace

RouteSettings RouteOf(const ParsedOptions& options) {
  RouteSettings route;
  if (!options.Has("route")) return route;
  const std::string policy = options.Has("policy") ? options.Choice("policy") : "always";
  if (policy == "always") route.policy = RoutePolicy::kAlways;
  if (policy == "never") route.policy = RoutePolicy::kNever;
  const std::string& way = options.Choice("route");
  if (MayBeServed(options)) route.partition_elements = PartitionElementsOf(options);
  if (way != "hierarchical" && options.Given("host_values")) {
    options.Refuse("host_values", "has an effect only with route=hierarchical: leave it out");
  }
  if (way == "split") {
    if (const ValueType values = ValueTypeOf(options); IsLowBit(values)) {
      options.Refuse("route", "divides entries among the ranks, which would round \"values\" = \"" +
                                  std::string(Name(values)) +
                                  "\" again; take fp16 or fp32, or another route");
    }
    route.compressed = WireRoute::kSplitAllgather;
  }
  if (way == "push_pull") {
    route.compressed = WireRoute::kPushPull;
    route.max_staleness = options.Integer("max_staleness");
    if (route.max_staleness > 0 && route.policy == RoutePolicy::kNever) {
      options.Refuse("max_staleness",
                     "needs servers, which policy=never does without: leave one of them out");
    }
    if (route.max_staleness > 0 && ForgetsEntries(options)) {
      options.Refuse("max_staleness",
                     "needs a compressor that keeps what it does not send, as a server answers "
                     "each rank with a part of what it holds for it: give ef=vanilla");
    }
    return route;
  }
  if (way == "hierarchical") {
    route.compressed = WireRoute::kHostAllgather;
    route.halves_inside = options.Choice("host_values") == "fp16";
  }
  if (options.Given("partition_bytes") && !MayBeServed(options)) {
    options.Refuse("partition_bytes",
                   "has an effect only with route=push_pull, or that among the alternatives: leave "
                   "it out");
  }
  if (options.Given("max_staleness")) {
    options.Refuse("max_staleness", "has an effect only with route=push_pull: leave it out");
  }
  return route;
}

}  // namespace weir
