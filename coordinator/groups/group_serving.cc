#include "coordinator/groups/group_serving.h"

#include <string>
#include <utility>

#include "coordinator/servers/group_description.h"
#include "ops/push_pull/server_messages.h"
#include "weir/error.h"

namespace weir {

GroupServing::GroupServing(Coordinator& coordinator, const GradientGroupSpec& spec,
                           const GroupPlan& plan)
    : coordinator_(coordinator),
      spec_(spec),
      plan_(plan),
      is_served_(plan.asynchronous() ||
                 (plan.pushes() && coordinator.network().server_links().dedicated())) {}

void GroupServing::Check() const {
  if (!is_served_ || spec_.process_set == ProcessSet::kGlobal) return;
  throw InvalidArgument("the gradient group '" + spec_.name + "' is one of process set " +
                        std::to_string(spec_.process_set) +
                        ", but servers (weirrun --servers) and max_staleness are for gradients of "
                        "the whole job: take another route than push_pull");
}

void GroupServing::TakeNumbers() {
  if (is_served_)
    first_number_ = coordinator_.network().TakeServerNumbers(plan_.layout.buckets.size());
}

const GroupServers& GroupServing::Join() {
  if (!first_number_) {
    throw InvalidArgument("the gradient group '" + spec_.name + "' has " +
                          std::to_string(plan_.layout.buckets.size()) +
                          " buckets, more than servers have numbers left for in this job; make "
                          "groups once and not again and again, or raise partition_bytes");
  }
  servers_ = {&coordinator_.network().server_links(), *first_number_, ParameterGroups(spec_)};
  ControlMessage message{
      .kind = ControlMessage::Kind::kRegister,
      .group = {.first_number = *first_number_,
                .spec = {.name = spec_.name,
                         .tensors = spec_.tensors,
                         .compression = GivenOptions(spec_, coordinator_.settings())},
                .fusion_threshold_bytes = coordinator_.settings().fusion_threshold_bytes}};
  std::vector<std::byte> bytes = Serialize(message);
  if (bytes.size() > server_messages::kMostControlBytes) {
    throw InvalidArgument(
        "the gradient group '" + spec_.name + "' takes " + std::to_string(bytes.size()) +
        " bytes to describe, and servers take in " +
        std::to_string(server_messages::kMostControlBytes) +
        ": give fewer tensors a group, shorter names, or options by pattern and not by tensor");
  }
  coordinator_.UseServers(coordinator_.rank() == 0 ? std::move(bytes) : std::vector<std::byte>(),
                          plan_.asynchronous());
  return *servers_;
}

void GroupServing::Leave() const {
  if (!servers_) return;
  coordinator_.UseServers(
      Serialize({.kind = ControlMessage::Kind::kRelease,
                 .group = {.first_number = servers_->first_number, .spec = {}}}),
      /*asynchronous=*/false);
}

void GroupServing::CheckAreNew(const char* call) const {
  if (!servers_ || !pushed_) return;
  throw InvalidArgument(std::string(call) + " of '" + spec_.name +
                        "' after its first step: its servers (weirrun --servers, or max_staleness) "
                        "would mix what they keep with another state; load before the first step");
}

}  // namespace weir
